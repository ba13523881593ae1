"""Where the control plane's programs come from."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from seamark_cluster.real import gobuild, release
from seamark_cluster.real.progress import Lines, Progress
from seamark_runtime.errors import UserError

VERSION = "v1.36.3"
NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")


@dataclasses.dataclass(frozen=True)
class Binaries:
    """The four programs, each an executable file."""

    etcd: Path
    kube_apiserver: Path
    kube_controller_manager: Path
    kubectl: Path


def cache_root(environment: Mapping[str, str] = os.environ) -> Path:
    """The cache directory of the current user."""
    base = environment.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "seamark"


def find(progress: Progress | None = None, environment: Mapping[str, str] = os.environ) -> Binaries:
    """The programs, prepared if necessary: the first call on a machine may take minutes, any later one is instant.

    Each program is taken from the first place that has it: the directory named by KUBEBUILDER_ASSETS, then the user's
    cache. A missing one is added to the cache: from the published release where the internet is reachable, otherwise by
    compiling it.
    """
    cache = cache_root(environment) / "controlplane" / VERSION
    places = [cache]
    if assets := environment.get("KUBEBUILDER_ASSETS"):
        places.insert(0, Path(assets))
        if not Path(assets).is_dir():
            raise UserError(f"KUBEBUILDER_ASSETS names {assets}, which is not a directory", hint="correct or unset it")
    if missing(places):
        with _alone(cache, progress or Lines()) as report:
            if wanted := missing(places):  # another process may have added them meanwhile
                _bring(cache, wanted, report)
    return Binaries(*(_first(places, name) for name in NAMES))


def missing(places: list[Path]) -> tuple[str, ...]:
    return tuple(name for name in NAMES if not any(_runs(place / name) for place in places))


def _bring(cache: Path, wanted: tuple[str, ...], report: Progress) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache.parent, prefix=f"{VERSION}-", ignore_cleanup_errors=True) as scratch:
        made = Path(scratch)
        if not release.download(VERSION, wanted, made, report):
            gobuild.build(VERSION, wanted, made, cache.parent.parent, report)
        for name in wanted:
            (made / name).replace(cache / name)  # atomic: other processes never see an incomplete file


@contextlib.contextmanager
def _alone(cache: Path, report: Progress) -> Iterator[Progress]:
    """One process at a time prepares programs; the others wait for it."""
    cache.parent.mkdir(parents=True, exist_ok=True)
    with (cache.parent / f"{VERSION}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("control plane: another process is preparing it, waiting")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield report


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _first(places: list[Path], name: str) -> Path:
    return next(place / name for place in places if _runs(place / name))
