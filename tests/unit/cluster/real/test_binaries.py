"""The programs are taken from the first place that has them, and prepared once where none has."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Collection
from pathlib import Path

import pytest

from seamark_cluster.real import binaries, gobuild, release
from seamark_cluster.real.binaries import NAMES, VERSION, cache_root, find
from seamark_runtime.errors import UserError


class Steps:
    """Records the reported steps."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def __call__(self, step: str, done: float | None = None) -> None:
        self.steps.append(step)


def program(path: Path, text: str = "#!") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A user with an empty cache, no internet and a compiler that writes its name into its output."""

    def build(version: str, wanted: Collection[str], into: Path, cache: Path, tell: object) -> None:
        for name in wanted:
            program(into / name, "built")

    monkeypatch.setattr(gobuild, "build", build)
    monkeypatch.setattr(release, "download", lambda *arguments: False)
    return {"XDG_CACHE_HOME": str(tmp_path / "cache")}


def cached(environment: dict[str, str]) -> Path:
    return cache_root(environment) / "controlplane" / VERSION


def test_the_cache_follows_the_users_setting() -> None:
    assert cache_root({"XDG_CACHE_HOME": "/somewhere"}) == Path("/somewhere/seamark")
    assert cache_root({}) == Path.home() / ".cache" / "seamark"


def test_what_is_nowhere_is_built_into_the_cache_and_nothing_else_stays(world: dict[str, str]) -> None:
    found = find(Steps(), world)
    assert found.kubectl == cached(world) / "kubectl"
    assert {path.name for path in cached(world).iterdir()} == set(NAMES)
    assert {path.name for path in cached(world).parent.iterdir()} == {VERSION, f"{VERSION}.lock"}


def test_what_is_cached_is_not_brought_again(world: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    first = find(Steps(), world)
    monkeypatch.delattr(gobuild, "build")
    monkeypatch.delattr(release, "download")
    assert find(Steps(), world) == first


def test_only_what_is_missing_is_brought(world: dict[str, str]) -> None:
    program(cached(world) / "etcd", "was here")
    found = find(Steps(), world)
    assert found.etcd.read_text() == "was here"
    assert found.kubectl.read_text() == "built"


def test_the_named_directory_comes_first_and_the_cache_fills_its_gaps(world: dict[str, str], tmp_path: Path) -> None:
    for name in ("etcd", "kube-apiserver", "kubectl"):
        program(tmp_path / "assets" / name)
    found = find(Steps(), {**world, "KUBEBUILDER_ASSETS": str(tmp_path / "assets")})
    assert found.etcd == tmp_path / "assets" / "etcd"
    assert found.kube_controller_manager == cached(world) / "kube-controller-manager"
    assert not (cached(world) / "etcd").exists()


def test_a_file_that_can_not_be_run_does_not_count(world: dict[str, str]) -> None:
    program(cached(world) / "etcd", "half a download")
    (cached(world) / "etcd").chmod(0o644)
    assert find(Steps(), world).etcd.read_text() == "built"


def test_a_named_directory_that_is_not_there_is_an_error(world: dict[str, str]) -> None:
    with pytest.raises(UserError, match="KUBEBUILDER_ASSETS names /nowhere"):
        find(Steps(), {**world, "KUBEBUILDER_ASSETS": "/nowhere"})


def test_two_processes_do_not_build_at_once(world: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that waits for the lock reports it; what it then finds it does not build again."""
    cached(world).mkdir(parents=True)
    reported = Steps()
    waiting = threading.Event()

    def tell(step: str, done: float | None = None) -> None:
        reported(step)
        waiting.set()

    monkeypatch.delattr(gobuild, "build")
    lock = os.open(cached(world).parent / f"{VERSION}.lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    finder = threading.Thread(target=find, args=(tell, world))
    finder.start()
    assert waiting.wait(10)
    for name in NAMES:
        program(cached(world) / name, "by the other")
    os.close(lock)
    finder.join(10)
    assert reported.steps == ["control plane: another process is preparing it, waiting"]
    assert binaries.missing([cached(world)]) == ()
