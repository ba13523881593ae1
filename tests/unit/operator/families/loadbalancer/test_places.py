"""What the operator knows of places beside the endpoints themselves: addresses that are reserved for Services."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import msgspec

from seamark.api.ngrokingress import Domain, DomainSpec
from seamark.families.loadbalancer.model.kept import TERM, KeptPlaces
from seamark.families.loadbalancer.model.names import digest
from seamark.families.loadbalancer.model.options import Intervals
from seamark.families.loadbalancer.model.places import kept_from, taken
from seamark.families.loadbalancer.model.reservations import Reservations
from seamark.families.loadbalancer.places.controller import controllers
from seamark.families.loadbalancer.remote import Remote
from seamark.families.loadbalancer.service.state import Keep
from seamark.providers.edge.memory import memory_edge
from seamark_edge.api.ngrok import AgentEndpoint
from seamark_edge.claims import OF_SERVICE, Claim, Standing
from seamark_edge.model import Owner
from seamark_runtime.api.meta import ObjectMeta
from seamark_runtime.clock import SystemClock
from tests.unit.operator.families.loadbalancer.given import given_dependencies
from tests.unit.operator.families.scenarios import Play
from tests.virtual_time import run

SERVICE = Owner("cluster", "tenant-b", "shop", "uid-shop")


def manifest(namespace: str, url: str, created: str) -> dict[str, Any]:
    return {
        "apiVersion": "ngrok.k8s.ngrok.com/v1alpha1",
        "kind": "AgentEndpoint",
        "metadata": {"name": "web", "namespace": namespace, "uid": f"uid-{namespace}", "creationTimestamp": created},
        "spec": {"url": url, "upstream": {"url": "tcp://web:80"}},
    }


def taken_by(reservations: Reservations, url: str) -> dict[str, bool | None]:
    """By namespace: whether its endpoint is refused. That of tenant-a is the older one."""
    given = [
        manifest("tenant-a", url, "2020-01-01T00:00:00Z"),
        manifest("tenant-b", url, "2026-01-01T00:00:00Z"),
    ]
    dependencies = given_dependencies(reservations)
    play = Play(controllers(dependencies), {"given": given})
    play.run()
    endpoints = [msgspec.convert(endpoint, AgentEndpoint) for endpoint in given]
    return {endpoint.metadata.namespace: taken(dependencies, play._view(), endpoint) for endpoint in endpoints}


def test_an_address_that_is_reserved_for_a_service_belongs_to_its_namespace_however_old_other_endpoints_are() -> None:
    remote = Remote(memory_edge(reachable=True), Intervals(), SystemClock())
    kept: dict[str, str] = run(remote.perform(Keep(SERVICE, ("",))))
    url = f"tcp://{kept['']}"
    assert taken_by(remote.reservations, url) == {"tenant-a": True, "tenant-b": False}
    assert taken_by(Reservations(), url) == {"tenant-a": False, "tenant-b": True}


def test_an_address_that_is_given_back_is_nobodys() -> None:
    reservations = Reservations()
    reservations.record(SERVICE, ["edge.example.test:20001", "edge.example.test:20002"])
    reservations.record(SERVICE, ["edge.example.test:20002"])
    assert taken_by(reservations, "tcp://edge.example.test:20001") == {"tenant-a": False, "tenant-b": True}
    assert taken_by(reservations, "tcp://edge.example.test:20002") == {"tenant-a": True, "tenant-b": False}
    reservations.record(replace(SERVICE, name="former", namespace="tenant-c"), ["edge.example.test:20003"])
    reservations.record(SERVICE, ["edge.example.test:20002", "edge.example.test:20003"])
    reservations.record(replace(SERVICE, name="former", namespace="tenant-c"), [])
    assert taken_by(reservations, "tcp://edge.example.test:20003") == {"tenant-a": True, "tenant-b": False}
    reservations.record(SERVICE, [])
    assert taken_by(reservations, "tcp://edge.example.test:20002") == {"tenant-a": False, "tenant-b": True}


def test_at_the_end_of_a_term_of_leadership_nothing_is_known_to_be_reserved() -> None:
    remote = Remote(memory_edge(reachable=True), Intervals(), SystemClock())

    async def term() -> str:
        leading = asyncio.ensure_future(remote.keep_connected())
        await asyncio.sleep(0)
        kept: dict[str, str] = await remote.perform(Keep(SERVICE, ("",)))
        leading.cancel()
        await asyncio.gather(leading, return_exceptions=True)
        return f"tcp://{kept['']}"

    assert taken_by(remote.reservations, run(term())) == {"tenant-a": False, "tenant-b": True}


def test_before_a_place_was_looked_at_it_is_not_known_whether_it_is_free() -> None:
    dependencies = given_dependencies()
    given = manifest("tenant-a", "tcp://edge.example.test:20001", "2020-01-01T00:00:00Z")
    play = Play(controllers(dependencies), {"given": [given]})
    assert taken(dependencies, play._view(), msgspec.convert(given, AgentEndpoint)) is None


TAKEN = {"type": "EndpointCreated", "status": "False", "reason": "Taken", "message": "", "lastTransitionTime": "x"}


def refused_alone(kept: KeptPlaces, now: float) -> bool | None:
    """Whether an endpoint that was refused, and is alone at its place, is still refused."""
    given = manifest("tenant-a", "tcp://edge.example.test:20001", "2020-01-01T00:00:00Z")
    given["status"] = {"conditions": [TAKEN]}
    dependencies = given_dependencies(kept=kept)
    play = Play(controllers(dependencies), {"given": [given]})
    play.run()
    view = play._view()
    view.now = now
    return taken(dependencies, view, msgspec.convert(given, AgentEndpoint))


def test_who_was_refused_gets_a_free_place_after_the_first_hold_time_of_a_term() -> None:
    """Places rule 11."""
    kept = KeptPlaces(600, SystemClock())
    assert refused_alone(kept, 0.0) is True
    kept.terms.put(TERM, True, 600.0)
    assert [refused_alone(kept, now) for now in (0.0, 599.0, 600.0)] == [True, True, False]


def test_a_place_that_is_given_up_is_kept_from_other_namespaces_and_their_domains() -> None:
    """Places rule 11."""
    url, host = "https://shop.example.test", "shop.example.test"
    kept = KeptPlaces(600, SystemClock())
    given = manifest("tenant-a", url, "2020-01-01T00:00:00Z")
    for wildcard in (False, True):
        where = "*.example.test" if wildcard else host
        kept.advance(where, Claim(False, Standing.ASSIGNED, "", "tenant-b", "web"), 0.0)
        kept.advance(where, None, 0.0)
        dependencies = given_dependencies(kept=kept)
        play = Play(controllers(dependencies), {"given": [given]})
        play.run()
        for namespace, expected in (("tenant-a", True), ("tenant-b", False)):
            meta = ObjectMeta(name="d", namespace=namespace)
            domain = Domain(metadata=meta, spec=DomainSpec(domain=host))
            assert kept_from(dependencies, play._view(), domain) is expected
        assert taken(dependencies, play._view(), msgspec.convert(given, AgentEndpoint)) is True
        kept = KeptPlaces(600, SystemClock())


def test_the_internal_host_that_a_service_gets_is_known_as_its_namespaces() -> None:
    """Places rule 8: agents know these hosts by their form alone."""
    found = OF_SERVICE.fullmatch(f"{digest('cluster', 'uid-shop', 'tcp')}.tenant-b.internal")
    assert found is not None
    assert found[1] == "tenant-b"
