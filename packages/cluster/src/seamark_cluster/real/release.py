"""Downloading the published programs, where the internet is reachable."""

from __future__ import annotations

import dataclasses
import hashlib
import http.client
import platform
import tarfile
import threading
import urllib.request
from collections.abc import Callable, Collection
from pathlib import Path
from typing import IO, TypeVar

import yaml

from seamark_cluster.real.progress import Progress

REACH_WITHIN = 1.5  # seconds for the first response: a machine without internet must not wait
STALLED_AFTER = 30.0
CHUNK = 1 << 20

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Site:
    """The addresses of the releases. The envtest archive has etcd, the API server and kubectl; the rest is Kubernetes'
    own.
    """

    envtest_index: str = "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml"
    kubernetes: str = "https://dl.k8s.io/release"


class Unavailable(Exception):
    """The release can't be downloaded, or does not match its checksum."""


def download(version: str, wanted: Collection[str], into: Path, report: Progress, site: Site | None = None) -> bool:
    """Downloads the requested programs into the directory; False if that is not possible.

    Each download is compared with the published SHA-512 before it is used.
    """
    site = site or Site()
    try:
        report("control plane: looking for the published release")
        index = within(REACH_WITHIN, lambda: _read(site.envtest_index))
        archive = f"envtest-{version}-{_platform('-')}.tar.gz"
        listed = yaml.safe_load(index)["releases"].get(version, {}).get(archive)
        if listed is None:
            raise Unavailable(f"there is no {archive} in the index")
        _unpack(_fetch(listed["selfLink"], into / archive, listed["hash"], report), wanted, into)
        for name in (name for name in wanted if not (into / name).exists()):
            url = f"{site.kubernetes}/{version}/bin/{_platform('/')}/{name}"
            checksum = _read(f"{url}.sha512").decode().split()[0]
            _fetch(url, into / name, checksum, report).chmod(0o755)
    except (OSError, http.client.HTTPException, tarfile.TarError, KeyError, Unavailable) as error:
        report(f"control plane: published release not available ({error})")
        return False
    return True


def within(seconds: float, work: Callable[[], T]) -> T:
    """The result of work with a time limit, name resolution included, which has none of its own."""
    outcome: list[T] = []
    failure: list[Exception] = []

    def run() -> None:
        try:
            outcome.append(work())
        except Exception as error:  # passed to the waiting thread
            failure.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failure:
        raise failure[0]
    if not outcome:
        raise Unavailable(f"no response within {seconds:g} s")
    return outcome[0]


def _open(url: str) -> http.client.HTTPResponse:
    if not url.startswith(("https://", "http://127.0.0.1:")):
        raise Unavailable(f"{url} is not a secure address")
    answer = urllib.request.urlopen(url, timeout=STALLED_AFTER)  # noqa: S310 - the scheme was just looked at
    assert isinstance(answer, http.client.HTTPResponse)
    return answer


def _read(url: str) -> bytes:
    with _open(url) as answer:
        return answer.read()


def _fetch(url: str, path: Path, checksum: str, report: Progress) -> Path:
    digest = hashlib.sha512()
    with _open(url) as answer, path.open("wb") as file:
        size, read = int(answer.headers.get("Content-Length") or 0), 0
        while chunk := answer.read(CHUNK):
            digest.update(chunk)
            file.write(chunk)
            read += len(chunk)
            report(f"control plane: downloading {path.name}", read / size if size else None)
    if digest.hexdigest() != checksum.lower():
        path.unlink()
        raise Unavailable(f"{path.name} is not what its published checksum says")
    return path


def _unpack(archive: Path, wanted: Collection[str], into: Path) -> None:
    with tarfile.open(archive) as tar:
        for member in tar:
            name = Path(member.name).name
            content: IO[bytes] | None = tar.extractfile(member) if member.isfile() and name in wanted else None
            if content is not None:
                (into / name).write_bytes(content.read())
                (into / name).chmod(0o755)
    archive.unlink()


def _platform(separator: str) -> str:
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"{platform.system().lower()}{separator}{machine}"
