"""The kubelet's own directory."""

from __future__ import annotations

from pathlib import Path

from seamark_cluster.kubelet.directory import LOCK, PREFIX, Directory


def test_an_unused_directory_is_removed_and_one_in_use_stays(tmp_path: Path) -> None:
    left = tmp_path / f"{PREFIX}left"
    left.mkdir()
    (left / LOCK).touch()
    foreign = tmp_path / f"{PREFIX}without-a-lock"
    foreign.mkdir()
    first, second = Directory(tmp_path), Directory(tmp_path)
    assert not left.exists()
    assert foreign.exists()
    assert first.path.exists()
    assert second.path.stat().st_mode & 0o777 == 0o700
    first.remove()
    second.remove()
    assert list(tmp_path.iterdir()) == [foreign]
