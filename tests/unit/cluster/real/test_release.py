"""Downloading the published programs, from a fake of the release site."""

from __future__ import annotations

import hashlib
import http.server
import io
import tarfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from seamark_cluster.real import release
from seamark_cluster.real.binaries import NAMES, VERSION
from seamark_cluster.real.release import Site, Unavailable, download, within
from tests.unit.cluster.real.test_binaries import Steps


class Web:
    """A web site on loopback whose pages a test can change."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.pages: dict[str, bytes] = {}
        self.site = Site(f"{self.url}/index.yaml", f"{self.url}/release")

    def publish(self) -> None:
        """An envtest archive with all but the controller manager, which Kubernetes publishes itself."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz") as tar:
            for name in ("etcd", "kube-apiserver", "kubectl"):
                member = tarfile.TarInfo(f"controller-tools/envtest/{name}")
                member.size = len(name)
                tar.addfile(member, io.BytesIO(name.encode()))
        name = f"envtest-{VERSION}-{release._platform('-')}.tar.gz"
        entry = {"hash": hashlib.sha512(archive.getvalue()).hexdigest(), "selfLink": f"{self.url}/{name}"}
        self.pages["/index.yaml"] = yaml.safe_dump({"releases": {VERSION: {name: entry}}}).encode()
        self.pages[f"/{name}"] = archive.getvalue()
        manager = f"/release/{VERSION}/bin/{release._platform('/')}/kube-controller-manager"
        self.pages[manager] = b"manager"
        self.pages[f"{manager}.sha512"] = hashlib.sha512(b"manager").hexdigest().encode()


@pytest.fixture
def web() -> Iterator[Web]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = site.pages.get(self.path)
            self.send_response(200 if page is not None else 404)
            self.send_header("Content-Length", str(len(page or b"")))
            self.end_headers()
            self.wfile.write(page or b"")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
            """No request log."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site = Web(server.server_port)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield site
        server.shutdown()
        thread.join()


def test_all_programs_arrive_and_can_be_run(web: Web, tmp_path: Path) -> None:
    web.publish()
    assert download(VERSION, NAMES, tmp_path, Steps(), web.site)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "etcd": "etcd",
        "kube-apiserver": "kube-apiserver",
        "kubectl": "kubectl",
        "kube-controller-manager": "manager",
    }
    assert all(path.stat().st_mode & 0o111 for path in tmp_path.iterdir())


@pytest.mark.parametrize("spoiled", [".tar.gz", "kube-controller-manager"])
def test_a_download_with_a_wrong_checksum_is_not_used(web: Web, tmp_path: Path, spoiled: str) -> None:
    web.publish()
    page = next(path for path in web.pages if path.endswith(spoiled))
    web.pages[page] += b"!"
    reported = Steps()
    assert not download(VERSION, NAMES, tmp_path, reported, web.site)
    assert "is not what its published checksum says" in reported.steps[-1]
    assert not (tmp_path / "kube-controller-manager").exists()


def test_an_unpublished_version_is_reported(web: Web, tmp_path: Path) -> None:
    web.publish()
    reported = Steps()
    assert not download("v1.0.0", NAMES, tmp_path, reported, web.site)
    assert "there is no envtest-v1.0.0" in reported.steps[-1]


def test_a_site_that_is_not_there_is_given_up_at_once(tmp_path: Path) -> None:
    began = time.monotonic()
    assert not download(VERSION, NAMES, tmp_path, Steps(), Site("http://127.0.0.1:1/", "http://127.0.0.1:1/"))
    assert time.monotonic() - began < 2


def test_nothing_is_taken_from_an_insecure_place(web: Web, tmp_path: Path) -> None:
    reported = Steps()
    assert not download(VERSION, NAMES, tmp_path, reported, Site("http://example.invalid/index.yaml"))
    assert "is not a secure address" in reported.steps[-1]


def test_work_that_hangs_is_abandoned() -> None:
    never = threading.Event()
    with pytest.raises(Unavailable, match="no response"):
        within(0.01, never.wait)
    never.set()


def test_failed_work_raises_its_error() -> None:
    with pytest.raises(ZeroDivisionError):
        within(10, lambda: 1 // 0)
