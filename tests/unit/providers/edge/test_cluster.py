"""Following AgentEndpoints, in virtual time: what a holder is told, and when."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from seamark.api.crd import CRD
from seamark.api.meta import Key
from seamark.api.ngrok import AgentEndpoint, NgrokTrafficPolicy
from seamark.core.client import Client
from seamark.core.errors import UserError
from seamark.providers.edge.agent.cluster import ClusterEndpoints, cluster_uid
from seamark.providers.edge.agent.model import Tunnel
from tests.unit.core.small_world import SmallWorld
from tests.virtual_time import run

ROOT = "/apis/ngrok.k8s.ngrok.com/v1alpha1/namespaces/default"
MERGE = "application/merge-patch+json"
SECRETS = "/api/v1/namespaces/default/secrets"


class Hand:
    """A holder that remembers what it was told."""

    def __init__(self) -> None:
        self.held: dict[str, Tunnel] = {}
        self.told = 0
        self.bad: set[str] = set()

    async def hold(self, name: str, wanted: Tunnel) -> object:
        self.told += 1
        if name in self.bad:
            raise UserError("its certificate can't be used")
        self.held[name] = wanted
        return None

    async def release(self, name: str) -> None:
        self.told += 1
        self.held.pop(name, None)


class Scene:
    def __init__(self, small: SmallWorld, source: ClusterEndpoints, hand: Hand) -> None:
        self.small, self.source, self.hand = small, source, hand

    async def endpoint(self, name: str, **spec: Any) -> None:
        body = {"apiVersion": "ngrok.k8s.ngrok.com/v1alpha1", "kind": "AgentEndpoint", "metadata": {"name": name}}
        said = {"url": "tcp://", "upstream": {"url": "tcp://web:80"}, **spec}
        await self.small.ask("POST", f"{ROOT}/agentendpoints", {**body, "spec": said})

    async def policy(self, name: str, **policy: Any) -> None:
        body = {"apiVersion": "ngrok.k8s.ngrok.com/v1alpha1", "kind": "NgrokTrafficPolicy", "metadata": {"name": name}}
        await self.small.ask("POST", f"{ROOT}/ngroktrafficpolicies", {**body, "spec": {"policy": policy}})

    async def change(self, path: str, **fields: Any) -> None:
        await self.small.ask("PATCH", f"{ROOT}/{path}", fields, MERGE)

    async def settled(self) -> None:
        await asyncio.sleep(1)


def scene(test: Callable[[Scene], Awaitable[None]]) -> None:
    async def program() -> None:
        small = SmallWorld(CRD(kind=AgentEndpoint), CRD(kind=NgrokTrafficPolicy))
        await small.prepare()
        client = Client(small.wire, manager="agent")
        source = ClusterEndpoints(client, Random(1), await cluster_uid(client))
        hand = Hand()
        running = asyncio.get_running_loop().create_task(source.run(hand))
        try:
            await asyncio.sleep(1)
            assert source.missing() == []
            await test(Scene(small, source, hand))
            assert not running.done(), running.exception()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    run(program())


def test_an_endpoint_is_held_changed_and_released_and_its_status_tells_nobody() -> None:
    async def case(s: Scene) -> None:
        await s.endpoint("web")
        await s.settled()
        assert (s.hand.held["default/web"].upstream, s.hand.held["default/web"].generation) == ("tcp://web:80", 1)
        told = s.hand.told
        await s.small.ask("PATCH", f"{ROOT}/agentendpoints/web/status", {"status": {"assignedURL": "x"}}, MERGE)
        await s.settled()
        assert s.hand.told == told
        await s.change("agentendpoints/web", spec={"upstream": {"url": "tcp://other:80"}})
        await s.settled()
        assert (s.hand.held["default/web"].upstream, s.hand.held["default/web"].generation) == ("tcp://other:80", 2)
        await s.small.ask("DELETE", f"{ROOT}/agentendpoints/web")
        await s.settled()
        assert s.hand.held == {}

    scene(case)


def test_an_endpoint_that_is_being_deleted_is_released_before_its_finalizer_is_gone() -> None:
    async def case(s: Scene) -> None:
        await s.endpoint("web")
        await s.change("agentendpoints/web", metadata={"finalizers": ["example.com/kept"]})
        await s.settled()
        assert "default/web" in s.hand.held
        await s.small.ask("DELETE", f"{ROOT}/agentendpoints/web")
        await s.settled()
        assert s.hand.held == {}

    scene(case)


def test_a_policy_is_awaited_and_followed_and_delays_nobody() -> None:
    async def case(s: Scene) -> None:
        await s.endpoint("guarded", trafficPolicy={"targetRef": {"name": "door"}})
        await s.endpoint("open")
        await s.settled()
        assert list(s.hand.held) == ["default/open"]
        assert s.source.problems == {Key("default", "guarded"): "the NgrokTrafficPolicy door is not there"}
        await s.policy("door", on_tcp_connect=[])
        await s.settled()
        assert s.hand.held["default/guarded"].policy == '{"on_tcp_connect":[]}'
        assert s.source.problems == {}
        await s.small.ask("DELETE", f"{ROOT}/ngroktrafficpolicies/door")
        await s.settled()
        assert "default/guarded" in s.hand.held  # as it was: nothing better is known
        assert list(s.source.problems) == [Key("default", "guarded")]

    scene(case)


def test_a_secret_is_read_by_name_and_its_change_is_taken_up() -> None:
    async def case(s: Scene) -> None:
        refs = {"clientCertificateRefs": [{"name": "mine"}]}
        await s.endpoint("web", **refs)
        await s.settled()
        assert s.source.problems[Key("default", "web")] == "the Secret mine is not there"
        for word in ("one", "two"):
            data = {"tls.crt": base64.b64encode(word.encode()).decode(), "tls.key": base64.b64encode(b"k").decode()}
            body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine"}, "data": data}
            method, path = ("POST", SECRETS) if word == "one" else ("PUT", f"{SECRETS}/mine")
            await s.small.ask(method, path, body)
            await asyncio.sleep(30)
            (pair,) = s.hand.held["default/web"].client_certificates
            assert pair.certificate == word.encode()
        assert s.source.problems == {}

    scene(case)


def test_what_the_holder_cant_do_is_a_problem_of_that_endpoint_alone() -> None:
    async def case(s: Scene) -> None:
        s.hand.bad.add("default/bad")
        await s.endpoint("bad")
        await s.endpoint("good")
        await s.settled()
        assert list(s.hand.held) == ["default/good"]
        assert s.source.problems == {Key("default", "bad"): "its certificate can't be used"}

    scene(case)
