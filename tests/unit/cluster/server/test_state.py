"""The embedded store's state in a file."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from seamark_cluster.embedded import Store, User
from seamark_cluster.embedded.machinery.errors import ApiError
from seamark_cluster.server import state as module
from seamark_cluster.server.state import StateFile
from seamark_runtime.errors import UserError

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "boats.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Boat", "plural": "boats"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def config_map(name: str, text: str = "") -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}}


def opened(path: Path) -> tuple[Store, StateFile]:
    store, file = Store(chance=Random(1)), StateFile(path)
    file.attach(store)
    return store, file


def test_everything_is_there_again_at_the_same_revision(tmp_path: Path) -> None:
    store, file = opened(tmp_path / "state")
    store.create(DEFINITION)
    store.create({"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "one"}, "sails": 2})
    store.create(config_map("kept", "a"))
    store.create(config_map("gone"))
    store.delete("configmaps", "default", "gone")
    token = store.issue_token(User("alice", ("crew",)))
    revision, objects = store.revisions.current, {r: store.objects(r) for r in store.revisions.resources()}
    file.close()
    again, file = opened(tmp_path / "state")
    assert again.revisions.current == revision
    assert {r: again.objects(r) for r in again.revisions.resources() if again.objects(r)} == {
        r: found for r, found in objects.items() if found
    }
    assert again.user_of(token) == User("alice", ("crew",))
    again.create(
        {"apiVersion": "example.com/v1", "kind": "Boat", "metadata": {"name": "two"}}
    )  # the kind is registered
    file.close()


def test_a_process_that_was_killed_loses_nothing_that_it_answered(tmp_path: Path) -> None:
    store, file = opened(tmp_path / "state")
    store.create(config_map("kept"))
    os.close(file._lock)  # the process ends here, as far as the kernel is concerned
    with (tmp_path / "state").open("ab") as half:
        half.write(b'[99,"configmaps","default","half",{"met')
    again, file = opened(tmp_path / "state")
    assert again.get("configmaps", "default", "kept") is not None
    assert again.get("configmaps", "default", "half") is None
    again.create(config_map("next"))
    file.close()
    third, file = opened(tmp_path / "state")
    assert third.get("configmaps", "default", "next") is not None
    file.close()


def test_owners_are_known_again_so_that_garbage_is_collected(tmp_path: Path) -> None:
    store, file = opened(tmp_path / "state")
    owner = store.create(config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    child = config_map("child")
    child["metadata"] = {"name": "child", "ownerReferences": [reference]}
    store.create(child)
    file.close()
    again, file = opened(tmp_path / "state")
    again.delete("configmaps", "default", "owner")
    again.settle()
    assert again.get("configmaps", "default", "child") is None
    file.close()


def test_the_file_stays_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPARE", 50)
    store, file = opened(tmp_path / "state")
    for number in range(500):
        store.apply(config_map("one", str(number)), "test")
    assert len((tmp_path / "state").read_bytes().splitlines()) < 100
    file.close()
    again, file = opened(tmp_path / "state")
    found = again.get("configmaps", "default", "one")
    assert found is not None
    assert found["data"] == {"text": "499"}
    file.close()


def test_a_file_in_use_and_an_invalid_file_are_reported_in_one_line(tmp_path: Path) -> None:
    _, file = opened(tmp_path / "state")
    with pytest.raises(UserError, match="is in use"):
        StateFile(tmp_path / "state")
    file.close()
    (tmp_path / "notes").write_text("buy milk\n")
    with pytest.raises(UserError, match=r"notes is not a state file of a cluster \(line 1"):
        opened(tmp_path / "notes")
    with pytest.raises(UserError, match="can't be kept in"):
        StateFile(tmp_path / "nowhere" / "state")


def test_what_cannot_be_kept_is_refused_and_nothing_is_spoiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, file = opened(tmp_path / "state")
    real = os.write

    def full(descriptor: int, text: bytes) -> int:
        return real(descriptor, text[:5])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(ApiError, match="No space left"):
        store.create(config_map("one"))
    monkeypatch.setattr(os, "write", real)
    store.create(config_map("two"))
    file.close()
    again, file = opened(tmp_path / "state")
    assert again.get("configmaps", "default", "two") is not None
    file.close()
