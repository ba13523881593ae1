"""Following AgentEndpoints, in virtual time: what a holder receives, and when."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any

from seamark_edge.agent.cluster import ClusterEndpoints, cluster_uid
from seamark_edge.agent.model import Problem, Tunnel
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint, NgrokTrafficPolicy
from seamark_runtime.api.crd import CRD
from seamark_runtime.api.gateway import ReferenceGrant
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.client import Client
from seamark_runtime.errors import UserError
from seamark_runtime.upstreams import UpstreamRules
from tests.unit.runtime.small_world import SmallWorld
from tests.virtual_time import run

ROOT = "/apis/ngrok.k8s.ngrok.com/v1alpha1/namespaces/default"
GRANTS = "/apis/gateway.networking.k8s.io/v1/namespaces"
RULES = UpstreamRules()
MERGE = "application/merge-patch+json"
SECRETS = "/api/v1/namespaces/default/secrets"


class Hand:
    """A holder that records what it received."""

    def __init__(self) -> None:
        self.held: dict[str, Tunnel] = {}
        self.told = 0
        self.bad: set[str] = set()
        self.reported: dict[str, Problem | None] = {}

    async def hold(self, name: str, wanted: Tunnel) -> object:
        self.told += 1
        if name in self.bad:
            raise UserError("its certificate can't be used")
        self.held[name] = wanted
        return None

    async def release(self, name: str) -> None:
        self.told += 1
        self.held.pop(name, None)

    def report(self, name: str, problem: Problem | None) -> None:
        self.reported[name] = problem


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

    async def grant(self, namespace: str, referrer: str) -> None:
        """Services of this namespace may be named by AgentEndpoints of another."""
        place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        await self.small.ask("POST", "/api/v1/namespaces", place)
        body = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": "ReferenceGrant", "metadata": {"name": "open"}}
        from_ = {"group": "ngrok.k8s.ngrok.com", "kind": "AgentEndpoint", "namespace": referrer}
        spec = {"from": [from_], "to": [{"group": "", "kind": "Service"}]}
        await self.small.ask("POST", f"{GRANTS}/{namespace}/referencegrants", {**body, "spec": spec})

    async def settled(self) -> None:
        await asyncio.sleep(1)


def scene(
    test: Callable[[Scene], Awaitable[None]],
    rules: UpstreamRules = RULES,
    installed: tuple[type[Object], ...] = (AgentEndpoint, CloudEndpoint, NgrokTrafficPolicy, ReferenceGrant),
) -> None:
    async def program() -> None:
        small = SmallWorld(*(CRD(kind=kind) for kind in installed))
        await small.prepare()
        client = Client(small.wire, manager="agent")
        source = ClusterEndpoints(client, Random(1), await cluster_uid(client), rules=rules)
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
        assert s.source.problems == {Key("default", "guarded"): "the NgrokTrafficPolicy door does not exist"}
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
        assert s.source.problems[Key("default", "web")] == "the Secret mine does not exist"
        reported = s.hand.reported["default/web"]
        assert reported is not None
        assert (reported.url, reported.generation, reported.message) == ("tcp://", 1, "the Secret mine does not exist")
        assert reported.name.split("/")[1:3] == ["default", "web"]
        for word in ("one", "two"):
            data = {"tls.crt": base64.b64encode(word.encode()).decode(), "tls.key": base64.b64encode(b"k").decode()}
            body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "mine"}, "data": data}
            method, path = ("POST", SECRETS) if word == "one" else ("PUT", f"{SECRETS}/mine")
            await s.small.ask(method, path, body)
            await asyncio.sleep(30)
            (pair,) = s.hand.held["default/web"].client_certificates
            assert pair.certificate == word.encode()
        assert s.source.problems == {}
        assert s.hand.reported == {"default/web": None}

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


def test_an_upstream_in_another_namespace_is_held_while_a_grant_allows_it_and_released_when_none_does() -> None:
    async def case(s: Scene) -> None:
        victim = {"upstream": {"url": "tcp://victim.other:80"}}
        await s.endpoint("web", **victim)
        await s.settled()
        key = Key("default", "web")
        assert (s.hand.held, "ReferenceGrant" in s.source.problems[key]) == ({}, True)
        await s.grant("other", "default")
        await s.settled()
        destination = s.hand.held["default/web"].destination
        assert destination is not None
        assert (destination.host, s.source.problems) == ("victim.other.svc.cluster.local", {})
        await s.small.ask("DELETE", f"{GRANTS}/other/referencegrants/open")
        await s.settled()
        assert (s.hand.held, list(s.source.problems)) == ({}, [key])
        await s.change("agentendpoints/web", spec={"upstream": {"url": "tcp://web:80"}})
        await s.settled()
        assert "default/web" in s.hand.held

    scene(case)


def test_a_forward_to_another_namespace_is_held_while_a_grant_allows_it_and_released_when_none_does() -> None:
    forward = {"type": "forward-internal", "config": {"url": "tcp://db.internal:5432"}}
    inline = {"on_tcp_connect": [{"actions": [forward]}]}

    async def case(s: Scene) -> None:
        await s.endpoint("web", trafficPolicy={"inline": inline})
        await s.settled()
        assert "default/web" in s.hand.held, "nobody has the place"
        await s.grant("payments", "other")
        body = {"apiVersion": "ngrok.k8s.ngrok.com/v1alpha1", "kind": "AgentEndpoint", "metadata": {"name": "db"}}
        spec = {"url": "tcp://db.internal:5432", "upstream": {"url": "tcp://db:80"}}
        root = ROOT.replace("/default", "/payments")
        await s.small.ask("POST", f"{root}/agentendpoints", {**body, "spec": spec})
        await s.settled()
        assert list(s.hand.held) == ["payments/db"]
        assert "ReferenceGrant" in s.source.problems[Key("default", "web")]
        from_ = {"group": "ngrok.k8s.ngrok.com", "kind": "AgentEndpoint", "namespace": "default"}
        to = {"group": "ngrok.k8s.ngrok.com", "kind": "AgentEndpoint", "name": "db"}
        await s.small.ask(
            "PATCH", f"{GRANTS}/payments/referencegrants/open", {"spec": {"from": [from_], "to": [to]}}, MERGE
        )
        await s.settled()
        assert sorted(s.hand.held) == ["default/web", "payments/db"]
        await s.small.ask("DELETE", f"{GRANTS}/payments/referencegrants/open")
        await s.settled()
        assert list(s.hand.held) == ["payments/db"]

    scene(case)


def test_a_forward_that_the_operator_refuses_is_released() -> None:
    """The operator knows of more claims: what the edge has reserved, and what is kept."""
    inline = {"on_tcp_connect": [{"actions": [{"type": "forward-internal", "config": {"url": "tcp://a.internal:1"}}]}]}

    async def case(s: Scene) -> None:
        await s.endpoint("web", trafficPolicy={"inline": inline})
        await s.settled()
        for reason, held in (("ForwardNotAllowed", []), ("Pending", ["default/web"])):
            status = "False" if reason == "ForwardNotAllowed" else "Unknown"
            condition = {"type": "EndpointCreated", "status": status, "reason": reason, "message": "m"}
            conditions = [{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}]
            await s.small.ask(
                "PATCH", f"{ROOT}/agentendpoints/web/status", {"status": {"conditions": conditions}}, MERGE
            )
            await s.settled()
            assert list(s.hand.held) == held

    scene(case)


def test_an_endpoint_that_is_changed_to_what_it_may_not_name_is_released() -> None:
    async def case(s: Scene) -> None:
        await s.endpoint("web")
        await s.settled()
        assert "default/web" in s.hand.held
        await s.change("agentendpoints/web", spec={"upstream": {"url": "tcp://10.96.0.10:80"}})
        await s.settled()
        assert s.hand.held == {}

    scene(case)


def test_an_installation_may_allow_every_namespace() -> None:
    async def case(s: Scene) -> None:
        await s.endpoint("web", upstream={"url": "tcp://victim.other:80"})
        await s.settled()
        assert s.hand.held["default/web"].anywhere

    scene(case, UpstreamRules(cross_namespace=True))


def test_without_the_kind_of_grants_an_agent_is_ready_and_nothing_is_granted() -> None:
    async def case(s: Scene) -> None:
        await s.endpoint("web", upstream={"url": "tcp://victim.other:80"})
        await s.endpoint("own")
        await s.settled()
        assert list(s.hand.held) == ["default/own"]

    scene(case, installed=(AgentEndpoint, NgrokTrafficPolicy))
