"""Agents hold the endpoints of one namespace at a place, in virtual time: all others that name it are released."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from seamark_runtime.api.meta import Key
from seamark_runtime.upstreams import UpstreamRules
from tests.unit.operator.providers.edge.test_cluster import MERGE, Scene, scene

PLACE = "tcp://edge.example.test:20001"
GROUP = "/apis/ngrok.k8s.ngrok.com/v1alpha1/namespaces"
VICTIM, ATTACKER = "tenant-b/web", "tenant-a/web"


class Tenants:
    def __init__(self, s: Scene) -> None:
        self.s = s

    async def arrive(self, *namespaces: str) -> None:
        for name in namespaces:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            await self.s.small.ask("POST", "/api/v1/namespaces", body)

    async def endpoint(self, key: str, url: str = PLACE, kind: str = "AgentEndpoint", **spec: Any) -> None:
        namespace, _, name = key.partition("/")
        body = {"apiVersion": "ngrok.k8s.ngrok.com/v1alpha1", "kind": kind, "metadata": {"name": name}}
        said = {"url": url, **({"upstream": {"url": "tcp://web:80"}} if kind == "AgentEndpoint" else {}), **spec}
        await self.s.small.ask("POST", f"{GROUP}/{namespace}/{kind.lower()}s", {**body, "spec": said})
        await asyncio.sleep(2)  # creation timestamps are in seconds

    async def status(self, key: str, **status: Any) -> None:
        namespace, _, name = key.partition("/")
        path = f"{GROUP}/{namespace}/agentendpoints/{name}/status"
        await self.s.small.ask("PATCH", path, {"status": status}, MERGE)
        await self.s.settled()

    async def refuse(self, key: str, status: str = "False") -> None:
        """The operator reports that the place is another's."""
        condition = {"type": "EndpointCreated", "status": status, "reason": "Taken", "message": "x"}
        await self.status(key, conditions=[{**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}])

    @property
    def held(self) -> list[str]:
        return sorted(self.s.hand.held)


def tenants(test: Any, rules: UpstreamRules | None = None) -> None:
    async def case(s: Scene) -> None:
        world = Tenants(s)
        await world.arrive("tenant-a", "tenant-b")
        await test(world)

    scene(case, rules or UpstreamRules())


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (PLACE, PLACE),
        (PLACE, "tcp://EDGE.example.test.:20001"),
        ("tcp://db.internal:5432", "tcp://DB.internal:5432"),
        ("https://shop.example.test", "tls://SHOP.example.test."),
    ],
)
def test_the_url_of_another_namespace_is_not_held(mine: str, theirs: str) -> None:
    """Places rule 7."""

    async def case(world: Tenants) -> None:
        await world.endpoint(VICTIM, mine)
        await world.endpoint(ATTACKER, theirs)
        assert world.held == [VICTIM]
        words = world.s.source.problems[Key("tenant-a", "web")]
        assert words.startswith("spec.url: the URL is in use by another namespace")
        assert "tenant-b" not in words

    tenants(case)


def test_a_wildcard_keeps_the_hosts_below_it_once_the_edge_has_it() -> None:
    """Places rule 4: every tenant may name the wildcard of the edge's own domain, which the edge refuses."""

    async def case(world: Tenants) -> None:
        await world.endpoint(VICTIM, "https://*.b.example.test")
        await world.endpoint(ATTACKER, "https://pay.b.example.test")
        assert world.held == [ATTACKER, VICTIM]
        await world.status(VICTIM, assignedURL="https://*.b.example.test:443")
        assert world.held == [VICTIM]

    tenants(case)


def test_endpoints_of_one_namespace_share_a_place() -> None:
    """Places rule 1."""

    async def case(world: Tenants) -> None:
        await world.endpoint("tenant-b/web")
        await world.endpoint("tenant-b/more")
        assert world.held == ["tenant-b/more", "tenant-b/web"]

    tenants(case)


def test_an_older_endpoint_that_is_edited_to_a_url_in_use_is_released() -> None:
    async def case(world: Tenants) -> None:
        await world.endpoint(ATTACKER, "tcp://edge.example.test:20009")
        await world.status(ATTACKER, assignedURL="tcp://edge.example.test:20009")
        await world.endpoint(VICTIM)
        await world.status(VICTIM, assignedURL=PLACE)
        path = f"{GROUP}/tenant-a/agentendpoints/web"
        await world.s.small.ask("PATCH", path, {"spec": {"url": PLACE}}, MERGE)
        await world.s.settled()
        assert world.held == [VICTIM]

    tenants(case)


def test_a_place_that_the_edge_chose_for_another_namespace_is_not_held() -> None:
    async def case(world: Tenants) -> None:
        await world.endpoint(ATTACKER)
        await world.endpoint(VICTIM, "tcp://")
        await world.status(VICTIM, assignedURL=PLACE)
        assert world.held == [VICTIM]

    tenants(case)


def test_what_the_operator_refuses_is_released_at_once_and_its_neighbours_are_judged_again() -> None:
    """As for a squatter: an older endpoint at an address that is reserved for a Service later."""

    async def case(world: Tenants) -> None:
        await world.endpoint(ATTACKER)
        await world.endpoint(VICTIM)
        assert world.held == [ATTACKER]
        await world.refuse(ATTACKER)
        assert world.held == [VICTIM]
        path = f"{GROUP}/tenant-a/agentendpoints/web"
        await world.s.small.ask("PATCH", path, {"spec": {"description": "a new generation"}}, MERGE)
        await world.s.settled()
        assert world.held == [VICTIM]

    tenants(case)


def test_a_refusal_ends_when_the_operator_takes_it_back() -> None:
    """Places rule 7."""

    async def case(world: Tenants) -> None:
        await world.endpoint(ATTACKER)
        await world.refuse(ATTACKER)
        assert world.held == []
        await world.refuse(ATTACKER, "Unknown")
        assert world.held == [ATTACKER]

    tenants(case)


def test_the_place_is_free_when_the_other_namespace_gives_it_up() -> None:
    """Places rule 7."""

    async def case(world: Tenants) -> None:
        await world.endpoint(VICTIM)
        await world.endpoint(ATTACKER)
        assert world.held == [VICTIM]
        await world.s.small.ask("DELETE", f"{GROUP}/tenant-b/agentendpoints/web")
        await world.s.settled()
        assert world.held == [ATTACKER]

    tenants(case)


def test_the_place_of_a_cloud_endpoint_of_another_namespace_is_not_held() -> None:
    async def case(world: Tenants) -> None:
        await world.endpoint(VICTIM, kind="CloudEndpoint", poolingEnabled=True)
        await world.endpoint(ATTACKER)
        assert world.held == []

    tenants(case)


def test_a_change_in_a_pool_tells_nobody_else_of_it() -> None:
    async def case(world: Tenants) -> None:
        for number in range(5):
            await world.endpoint(f"tenant-b/web-{number}")
        told = world.s.hand.told
        for number in range(1, 5):
            await world.status(f"tenant-b/web-{number}", assignedURL="tcp://elsewhere.example.test:1")
        assert world.s.hand.told == told

    tenants(case)


def test_an_endpoint_is_bound_into_its_own_namespace_unless_the_installation_allows_others() -> None:
    """Places rule 8."""

    bound: dict[str, Any] = {"bindings": ["kubernetes"]}

    async def refused(world: Tenants) -> None:
        await world.endpoint(ATTACKER, "tcp://db.tenant-b:5432", **bound)
        await world.endpoint("tenant-b/db", "tcp://db.tenant-b:5432", **bound)
        assert world.held == ["tenant-b/db"]
        assert "lb_cross_namespace_bindings" in world.s.source.problems[Key("tenant-a", "web")]

    async def allowed(world: Tenants) -> None:
        await world.endpoint(ATTACKER, "tcp://db.tenant-b:5432", **bound)
        assert world.held == [ATTACKER]

    tenants(refused)
    tenants(allowed, UpstreamRules(cross_namespace_bindings=True))


def test_a_url_that_cant_be_read_is_not_held() -> None:
    async def case(world: Tenants) -> None:
        await world.endpoint(ATTACKER, "tcp://edge.example.test:20001?x")
        assert world.held == []

    tenants(case)
