"""How often the edge is polled: soon while a status waits for agents, as declared by the memory of the poll."""

from __future__ import annotations

from seamark.families.loadbalancer.model.entries import EDGE
from seamark.families.loadbalancer.model.options import Intervals
from seamark.families.loadbalancer.online.controller import controllers
from seamark.families.loadbalancer.online.state import Look, Online
from seamark.families.loadbalancer.remote import Remote
from seamark.providers.edge.memory import memory_edge
from seamark_edge.model import Endpoint
from seamark_runtime.clock import SystemClock
from tests.unit.operator.families.loadbalancer.given import given_dependencies
from tests.unit.operator.families.scenarios import Play
from tests.virtual_time import run


class Time(SystemClock):
    now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_the_edge_is_polled_again_soon_only_while_a_status_waits_for_agents() -> None:
    clock, provider, waits = Time(), memory_edge(reachable=True), [False]
    remote = Remote(provider, Intervals(poll=50.0, soon=10.0), clock, hurried=lambda: waits[0])
    polls = 0

    async def online() -> tuple[Endpoint, ...]:
        nonlocal polls
        polls += 1
        return ()

    provider.online = online  # type: ignore[method-assign]  # counts

    def polled(now: float) -> int:
        clock.now = now
        assert run(remote.perform(Look())) == Online()
        return polls

    assert [polled(now) for now in (100.0, 120.0, 151.0)] == [1, 1, 2]
    waits[0] = True
    assert [polled(now) for now in (152.0, 161.0)] == [2, 3]


def test_an_endpoint_that_is_not_online_is_waited_for() -> None:
    endpoint = {
        "apiVersion": "ngrok.k8s.ngrok.com/v1alpha1",
        "kind": "AgentEndpoint",
        "metadata": {"name": "web", "namespace": "default", "uid": "uid-web", "generation": 1},
        "spec": {"url": "tcp://edge.example.test:20001", "upstream": {"url": "tcp://web:80"}},
    }
    good = {"status": "True", "reason": "x", "message": "", "lastTransitionTime": "x", "observedGeneration": 1}
    online = [{"type": name, **good} for name in ("EndpointCreated", "TrafficPolicyApplied", "DomainReady")]
    for status, expected in ({}, True), ({"conditions": online[1:]}, True), ({"conditions": online}, None):
        dependencies = given_dependencies()
        Play(controllers(dependencies), {"given": [{**endpoint, "status": status}]}).run()
        assert dependencies.awaited.get(EDGE) is expected
