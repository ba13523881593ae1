"""A real control plane, the console on it, and a real Chromium that looks at it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from seamark.cli.console import serve
from seamark.console.evidence import LocalEvidence
from seamark.families.dns.family import DNS_ENDPOINT
from seamark.families.sample.family import GREETING
from seamark_cluster.real.plane import ControlPlane, Options, User
from seamark_cluster.real.ports import Ports
from seamark_runtime.connection import connect
from tests.cluster.requests import install, request

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
QUIET = ("--disable-component-update", "--disable-sync", "--disable-default-apps")


class Cluster:
    """Objects with the status that their controllers would give them."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane

    def make(self, path: str, body: dict[str, Any]) -> None:
        made = request(self.plane, "POST", path, body)
        assert made.code == 201, made.body

    def lease(self, name: str, renewed: str) -> None:
        """The Lease of an operator that was renewed last at this time."""
        metadata = {
            "name": name,
            "labels": {"seamark.dev/operator-lease": "true"},
            "annotations": {"seamark.dev/families": "sample"},
        }
        spec = {"holderIdentity": "gone", "leaseDurationSeconds": 15, "renewTime": f"{renewed[:-1]}.000000Z"}
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
        self.make("/apis/coordination.k8s.io/v1/namespaces/default/leases", body)

    def greet(
        self, name: str, namespace: str = "default", ready: str = "True", message: str = "", *, unjudged: bool = False
    ) -> None:
        """A Greeting, and what its controller says of it."""
        path = f"/apis/sample.seamark.dev/v1alpha1/namespaces/{namespace}/greetings"
        body = {"apiVersion": "sample.seamark.dev/v1alpha1", "kind": "Greeting", "metadata": {"name": name}}
        self.make(path, {**body, "spec": {"text": "hello"}})
        if not unjudged:
            self.say(name, namespace, ready, message)

    def say(self, name: str, namespace: str, ready: str, message: str = "") -> None:
        said = [
            {
                "type": type_,
                "status": ready,
                "reason": "Published" if ready == "True" else "Refused",
                "message": message or "as it should be",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "observedGeneration": 1,
            }
            for type_ in ("Ready", "Published", "Posted")
        ]
        patch = json.dumps({"status": {"conditions": said}})
        arguments = ("patch", "greeting", name, "-n", namespace, "--subresource=status", "--type=merge", "-p", patch)
        self.plane.kubectl(*arguments)

    def token(self, account: str, namespace: str = "default") -> str:
        return self.plane.kubectl("create", "token", account, "-n", namespace).strip()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with ControlPlane(Options(users=(User("operator", ("system:masters",)),))) as plane:
        install(plane, GREETING)
        install(plane, DNS_ENDPOINT)
        made = Cluster(plane)
        plane.kubectl("create", "namespace", "shop")
        plane.kubectl("create", "serviceaccount", "chief", "-n", "default")
        plane.kubectl(
            "create", "clusterrolebinding", "chief", "--clusterrole=cluster-admin", "--serviceaccount=default:chief"
        )
        plane.kubectl("create", "serviceaccount", "clerk", "-n", "shop")
        rights = ("--verb=get,list", "--resource=greetings.sample.seamark.dev")
        plane.kubectl("create", "role", "clerk", "-n", "shop", *rights)
        plane.kubectl("create", "rolebinding", "clerk", "-n", "shop", "--role=clerk", "--serviceaccount=shop:clerk")
        yield made


@pytest.fixture(scope="session")
def console(cluster: Cluster) -> Iterator[str]:
    """Its address."""
    ports = Ports("127.0.0.1")
    address = f"127.0.0.1:{ports.reserve()}"
    loop = asyncio.new_event_loop()
    up = threading.Event()
    witness = partial(LocalEvidence, evidence=lambda _, key: [f"board of {key.name}: answered 2 s ago"])
    task = loop.create_task(serve(address, connect(str(cluster.plane.kubeconfig)), up.set, witness))
    thread = threading.Thread(target=_drive, args=(loop, task))
    thread.start()
    assert up.wait(30)
    yield f"http://{address}/"
    loop.call_soon_threadsafe(task.cancel)
    thread.join()
    ports.close()


def _drive(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None]) -> None:
    with contextlib.closing(loop), contextlib.suppress(asyncio.CancelledError):
        loop.run_until_complete(task)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    assert chromium, "these tests need Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=[*FLAGS, *QUIET])
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab in which nothing may go wrong unseen."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    troubles: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            troubles.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on(
        "request",
        lambda asked: None if asked.url.startswith(("http://127.0.0.1", "data:")) else troubles.append(asked.url),
    )
    page.set_default_timeout(30_000)
    yield page
    context.close()
    assert troubles == []


@pytest.fixture(scope="session")
def pictures() -> Path:
    """Where the pictures of a run are kept."""
    folder = Path("build-output/browser")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
