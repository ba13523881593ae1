"""The files of volumes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from seamark_cluster.kubelet.environment import NotConfigured
from seamark_cluster.kubelet.volumes import Contents, File, contents, write
from seamark_runtime.api.core import Volume
from tests.unit.cluster.kubelet.pods import KNOWN, PLACEMENT, pod


def contents_of(volume: dict[str, Any]) -> Contents:
    return contents(pod(labels={"a": "1"}), msgspec.convert({"name": "v", **volume}, Volume), KNOWN, PLACEMENT)


def test_a_config_map_is_a_file_for_each_key() -> None:
    assert contents_of({"configMap": {"name": "settings"}}).files == {"mode": File(b"fast"), "size": File(b"3")}


def test_items_choose_keys_and_give_paths_and_modes() -> None:
    volume = {"secret": {"secretName": "keys", "items": [{"key": "token", "path": "sub/t", "mode": 0o400}]}}
    assert contents_of(volume).files == {"sub/t": File(b"s3cret", 0o400)}


def test_a_projected_volume_joins_its_sources_and_requests_its_tokens() -> None:
    sources = [
        {"configMap": {"name": "settings", "items": [{"key": "mode", "path": "m"}]}},
        {"downwardAPI": {"items": [{"path": "ns", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
    ]
    found = contents_of({"projected": {"sources": sources}})
    assert found.files == {"m": File(b"fast"), "ns": File(b"shop")}
    assert [token.path for token in found.tokens] == ["token"]


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        ({"configMap": {"name": "none"}}, 'configmap "none" not found'),
        ({"secret": {"secretName": "none"}}, 'secret "none" not found'),
        ({"configMap": {"name": "settings", "items": [{"key": "x", "path": "x"}]}}, "has no key x"),
        ({"configMap": {"name": "settings", "items": [{"key": "mode", "path": "../x"}]}}, "not a path inside a volume"),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"path": "../token"}}]}},
            "not a path inside a volume",
        ),
        ({}, "has an unsupported type"),
    ],
)
def test_a_volume_that_can_not_be_mounted_is_reported(volume: dict[str, Any], message: str) -> None:
    with pytest.raises(NotConfigured, match=message):
        contents_of(volume)


def test_writing_makes_a_directory_hold_exactly_the_files(tmp_path: Path) -> None:
    write(tmp_path / "v", {"a": File(b"1"), "sub/b": File(b"2", 0o600)})
    write(tmp_path / "v", {"a": File(b"changed"), "c": File(b"3")})
    found = {str(path.relative_to(tmp_path / "v")): path.read_bytes() for path in (tmp_path / "v").rglob("*")}
    assert found == {"a": b"changed", "c": b"3"}


def test_modes_are_set(tmp_path: Path) -> None:
    write(tmp_path, {"key": File(b"x", 0o600), "open": File(b"x", 0o666)})
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o666  # whatever the umask of the kubelet is
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
