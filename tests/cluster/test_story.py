"""The story: one Score file, and a URL that answers; each hop in between broken and mended.

`seamark dev` with its embedded cluster, Pods that are processes, Envoy, the edge, an agent, a forwarder and a name
server. Everything is real but the name server's will: it refuses what the test chooses.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvloop

from seamark.cli.families import FAMILIES
from seamark.explain.kinds import named
from seamark.explain.reader import Reader
from seamark.explain.show import plain
from seamark.explain.walk import explained
from seamark.families.dns.family import controllers
from seamark.families.dns.model.options import Intervals, Options
from seamark.families.dns.settings import loaded, rules_of
from seamark.gatewayapi.bundle import definitions
from seamark.providers.dns.server import ServedMemory
from seamark_cluster.commands.dev.command import cluster_settings
from seamark_cluster.commands.dev.demo import Demo, Place
from seamark_cluster.commands.dev.examples import Example, gathered
from seamark_cluster.commands.dev.parts import Parts
from seamark_cluster.commands.dev.programs import IMAGES
from seamark_cluster.kubelet.images import Images
from seamark_cluster.network.closed import ClosedNetwork
from seamark_cluster.real.binaries import find
from seamark_cluster.server.cluster import EmbeddedCluster
from seamark_runtime.api.meta import Key
from seamark_runtime.connection import connect
from seamark_runtime.http import HttpTransport
from seamark_runtime.resolver import Resolver
from seamark_runtime.transport import HttpRequest
from tests.cluster.kubelet_machine import killed_again_and_again
from tests.cluster.requests import eventually

HOST, NAME = "127.0.0.1", "story.example.test"
PATIENCE = 60.0
WORKLOAD, EXPOSURE = ("workload", "story", "Ready"), ("workloadexposure", "story", "Ready")
GATEWAY, RECORD = ("gateway", "default", "Programmed"), ("dnsendpoint", "httproute-story.way", "Ready")
DEPLOYMENT = ("deployment", "story", "Available")


@pytest.fixture(autouse=True)
def own_network() -> Iterator[None]:
    """All loopback addresses are this test's own: other clusters on this machine have the same."""
    definitions()  # while there is a way out of this machine
    with ClosedNetwork():
        yield


@dataclass
class Story:
    """What a person does and sees."""

    kubeconfig: Path
    names: str
    provider: ServedMemory
    loop: asyncio.AbstractEventLoop
    transport: HttpTransport
    seconds: dict[str, float] = field(default_factory=dict)

    def kubectl(self, *arguments: str) -> str:
        command = [str(find().kubectl), "--kubeconfig", str(self.kubeconfig), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def get(self, kind: str, name: str = "", labels: str = "") -> dict[str, Any]:
        """An object, or all of a kind; empty for what is not there."""
        asked = HttpRequest(
            "GET", named(kind).path("default", name or None), {"labelSelector": labels} if labels else {}
        )
        answer = asyncio.run_coroutine_threadsafe(self.transport.send(asked), self.loop).result(30)
        found: dict[str, Any] = json.loads(answer.body) if answer.status == 200 else {}
        return found

    def all(self, kind: str, labels: str = "") -> list[dict[str, Any]]:
        return self.get(kind, labels=labels).get("items") or []

    def balanced(self) -> list[tuple[str, str, str]]:
        """The Service before the Gateway, and its endpoint at the edge."""
        label = "gateway.networking.k8s.io/gateway-name=default"
        (service,) = [one["metadata"]["name"] for one in self.all("service", label)]
        (endpoint,) = [
            one["metadata"]["name"]
            for one in self.all("agentendpoint")
            if one["metadata"]["ownerReferences"][0]["name"] == service
        ]
        return [("service", service, "k8s.ngrok.com/AddressAssigned"), ("agentendpoint", endpoint, "Ready")]

    def says(self, hop: tuple[str, str, str]) -> str:
        kind, name, condition = hop
        conditions = (self.get(kind, name).get("status") or {}).get("conditions") or ()
        return next((one["status"] for one in conditions if one["type"] == condition), "nothing")

    def endpoint(self) -> str:
        return str((self.get("workload", "story").get("status") or {}).get("endpoint") or "")

    def answers(self) -> bool:
        """A client that finds the name where names are asked."""
        parts = urlsplit(self.endpoint())
        if parts.hostname != NAME:
            return False
        with suppress(OSError):
            address = asyncio.run(Resolver(self.names).lookup(NAME))[0]
            asked = urllib.request.Request(f"http://{address}:{parts.port}/", headers={"Host": NAME})
            with urllib.request.urlopen(asked, timeout=5) as response:
                return bool(json.load(response)["path"] == "/")
        return False

    def until_true(self, *hops: tuple[str, str, str]) -> None:
        for hop in (WORKLOAD, EXPOSURE, GATEWAY, RECORD, DEPLOYMENT, *hops):
            eventually(lambda hop=hop: self.says(hop) == "True", f"{hop} is True", PATIENCE)  # type: ignore[misc]
        eventually(self.answers, "the URL answers", PATIENCE)

    def until_untrue(self, what: str, *hops: tuple[str, str, str]) -> None:
        """Every status above a broken hop stops saying True."""
        began = time.monotonic()
        for hop in (*hops, EXPOSURE, WORKLOAD):
            eventually(lambda hop=hop: self.says(hop) != "True", f"{what}: {hop} is not True", PATIENCE)  # type: ignore[misc]
        self.seconds[what] = time.monotonic() - began

    def blamed(self) -> dict[str, Any]:
        """The hop that `seamark explain workload/story` names."""
        asked = explained(Reader(self.transport), named("workload"), Key("default", "story"))
        found = plain(asyncio.run_coroutine_threadsafe(asked, self.loop).result(60))["broken"]
        return found or {}

    def until_blamed(self, *kinds: str, name: str = "", words: str = "") -> None:
        def so() -> bool:
            found = self.blamed()
            return found.get("kind") in kinds and name in found["name"] and words in found["words"]

        eventually(so, f"{kinds} is to blame", PATIENCE)

    def at_the_server(self, act: Callable[[], None]) -> None:
        self.loop.call_soon_threadsafe(act)


@contextmanager
def own_environment() -> Iterator[None]:
    """What `dev` tells the families is in the variables of this process: afterwards they are as before."""
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


async def told(folder: Path, examples: list[Example], tale: Callable[[Story], None]) -> None:
    """`seamark dev` on this loop, and the tale in a thread beside it."""
    cluster = EmbeddedCluster(folder, cluster_settings("loopback", Images(IMAGES)))
    await cluster.start()
    try:
        parts = Parts(print)
        parts.serve_names()
        provider = ServedMemory(("example.test",), HOST, int(parts.names.rpartition(":")[2]))
        timing = Intervals(spacing=0.1, poll=0.5, shelf_life=30.0)
        dns = replace(
            FAMILIES["dns"], controllers=lambda: controllers(Options(rules_of(loaded(), provider), timing), provider)
        )
        assert cluster.machine is not None
        names = f"{cluster.machine.dns}:{cluster.machine.dns_port}"
        place = Place(cluster.url, cluster.kubeconfig, HOST, names, folder)
        demo = Demo(examples, parts, check=False, families={**FAMILIES, "dns": dns})
        showing = asyncio.ensure_future(demo.at(place, time.monotonic()))
        transport = await HttpTransport(connect(str(cluster.kubeconfig))).open()
        story = Story(cluster.kubeconfig, parts.names, provider, asyncio.get_running_loop(), transport)
        telling = asyncio.ensure_future(asyncio.to_thread(tale, story))
        await asyncio.wait((showing, telling), return_when=asyncio.FIRST_COMPLETED)
        showing.cancel()
        await asyncio.gather(showing, return_exceptions=True)
        await transport.close()
        await provider.close()
        await telling
    finally:
        await cluster.close()


def tale(story: Story) -> None:
    eventually(lambda: bool(story.endpoint()), "the Workload has an endpoint", PATIENCE)
    eventually(lambda: len(story.all("agentendpoint")) == 1, "the edge is asked for an address", PATIENCE)
    service, endpoint = story.balanced()
    story.until_true(service, endpoint)
    eventually(lambda: story.blamed() == {}, "there is no broken hop", PATIENCE)

    agent = ("-n", "seamark-system", "scale", "deployment/seamark-agent")
    story.kubectl(*agent, "--replicas=0")
    story.until_untrue("the agent is stopped", endpoint, service, GATEWAY)
    story.until_blamed("AgentEndpoint", name=endpoint[1])
    story.kubectl(*agent, "--replicas=1")
    story.until_true(service, endpoint)

    story.provider.deny.add(NAME)
    story.at_the_server(lambda: story.provider.remove(NAME, "A"))
    story.until_untrue("the record is refused", RECORD)
    story.until_blamed("DNSEndpoint", words="REFUSED")
    story.provider.deny.clear()
    story.until_true(service, endpoint)

    (pod,) = story.all("pod", "score.dev/workload=story")
    with killed_again_and_again(pod["metadata"]["name"]):
        story.until_untrue("the Pod is killed", DEPLOYMENT)
        story.until_blamed("Pod", "EndpointSlice")
    story.until_true(service, endpoint)

    story.kubectl("patch", "httproute", "story.way", "--type=merge", "-p", '{"metadata":{"finalizers":["test/held"]}}')
    story.kubectl("delete", "httproute", "story.way", "--wait=false")
    story.until_untrue("the route is deleted")
    story.until_blamed("HTTPRoute", words="it is being deleted")
    story.kubectl("patch", "httproute", "story.way", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    story.until_true(service, endpoint)  # it is made anew
    said = " ".join(f"{what.replace(' ', '_')}_s={value:.1f}" for what, value in story.seconds.items())
    print(f"story: {said}")  # noqa: T201  # how many seconds the report took


def test_one_score_file_becomes_a_url_that_answers_and_every_broken_hop_is_told(tmp_path: Path) -> None:
    examples = [one for one in gathered(Path("examples")) if one.name == "story"]
    with own_environment():
        uvloop.run(told(tmp_path, examples, tale))
