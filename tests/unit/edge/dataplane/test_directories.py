"""Which directory Envoys have that outlive their operator, if no setting names one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from seamark_edge.dataplane.envoy.directories import directories, directory_of, fits


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "t"
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path))
    return path


@pytest.fixture
def short(temporary: Path) -> Path:
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        return Path(path)


def test_each_installation_has_one_of_its_own_and_it_is_the_same_after_a_restart(short: Path) -> None:
    environment = {"XDG_STATE_HOME": str(short)}
    one = directory_of("https://a:6443 seamark-system/seamark", environment)
    assert one is not None
    assert one.parent == short / "seamark" / "envoys"
    assert one == directory_of("https://a:6443 seamark-system/seamark", environment)
    assert one != directory_of("https://a:6443 seamark-system/gateway", environment)
    assert directories(environment) == []
    one.mkdir()
    assert directories(environment) == [one]


def test_a_path_too_long_for_a_socket_gives_way_to_a_shorter_one(temporary: Path) -> None:
    state = temporary / ("long" * 25)
    found = directory_of("it", {"XDG_STATE_HOME": str(state)})
    assert found is not None
    assert fits(found)
    assert not found.is_relative_to(state)


def test_where_nothing_can_be_written_or_others_can_write_another_is_used(short: Path) -> None:
    short.mkdir()
    (short / "file").touch()
    found = directory_of("it", {"XDG_STATE_HOME": str(short / "file")})
    assert found is not None
    open_to_all = short / "seamark" / "envoys"
    open_to_all.mkdir(parents=True)
    open_to_all.chmod(0o777)
    assert directory_of("it", {"XDG_STATE_HOME": str(short)}) == found
    open_to_all.chmod(0o755)
    assert directory_of("it", {"XDG_STATE_HOME": str(short)}) == open_to_all / found.name
