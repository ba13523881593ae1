"""The family as a whole: what it reads, what it leaves alone, and who does the work."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from random import Random
from typing import Any

import pytest

from seamark.families.dns.family import controllers
from seamark.families.dns.model.options import Options
from seamark.families.dns.model.rules import Rules
from seamark.providers.dns.model import Record
from seamark_cluster.embedded import EmbeddedTransport
from seamark_runtime.clock import SystemClock
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.names import received_path
from tests.answering import AnsweringMemory
from tests.dns.running import ALL_TYPES, TIMING, Cluster, cluster, endpoint, operating, synced, until

ZONE, OTHER = "example.test", "other.test"
REVERSE = "2.0.192.in-addr.arpa"
NEW = "external-dns.kubernetes.io/"
OWNER = "heritage=external-dns,external-dns/owner=me,external-dns/resource="


def rules(**more: Any) -> Rules:
    return Rules(**{"zones": (ZONE, OTHER), "owner": "me", "set_identifiers": True, **more})


def ask(world: Cluster, method: str, path: str, body: Any) -> None:
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    answer = world.store.handle(
        HttpRequest(method, received_path(path), body=json.dumps(body).encode(), content_type=kind)
    )
    assert isinstance(answer, Answer)
    assert answer.status in (200, 201), answer.body


def left_by(provider: AnsweringMemory, resource: str, name: str) -> None:
    """A record of ours from an earlier life."""
    provider.put(Record(name, "A", ("192.0.2.1",), 300))
    provider.put(Record(f"a-{name}", "TXT", (OWNER + resource,), 300))


# ---- names that no object has


def test_leftovers_are_removed_also_from_a_zone_that_no_object_names() -> None:
    """Rule 15."""
    provider = AnsweringMemory((ZONE, OTHER))
    left_by(provider, "crd/default/gone", f"gone.{OTHER}")
    world = cluster()

    async def story() -> None:
        world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1"))
        async with operating(world, provider, rules()):
            await until(lambda: not provider.content(OTHER).names, "what is left of ours goes")
            await until(lambda: world.ready("www"), lambda: world.says("www"))

    asyncio.run(story())


@pytest.mark.parametrize(("may", "left"), [(False, 2), (True, 0)])
def test_a_source_that_is_empty_from_the_start_deletes_nothing_unless_it_may(may: bool, left: int) -> None:
    """Rule 30: a cluster that has no objects may be the wrong cluster."""
    provider = AnsweringMemory((ZONE, OTHER))
    left_by(provider, "crd/default/gone", f"gone.{ZONE}")

    async def story() -> None:
        async with operating(cluster(), provider, rules(empty_deletes=may)):
            reads = provider.reads
            await until(lambda: provider.reads > reads + 6, "the zones are read")
        assert len(provider.content(ZONE).names) == left

    asyncio.run(story())


def test_the_last_object_that_goes_under_our_eyes_takes_its_records_along() -> None:
    provider = AnsweringMemory((ZONE, OTHER))
    world = cluster()

    async def story() -> None:
        world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1"))
        async with operating(world, provider, rules()):
            await until(lambda: world.ready("www"), lambda: world.says("www"))
            world.delete("www")
            await until(lambda: world.get("www") is None, lambda: world.says("www"))
        assert not provider.content(ZONE).names

    asyncio.run(story())


# ---- what is read


def service(name: str, annotations: dict[str, str], **spec: Any) -> dict[str, Any]:
    full = {f"{NEW}{key}": value for key, value in annotations.items()}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default", "annotations": full},
        "spec": {"ports": [{"port": 80}], **spec},
    }


def node(name: str, inside: str, outside: str) -> dict[str, Any]:
    found = [{"type": "InternalIP", "address": inside}, {"type": "ExternalIP", "address": outside}]
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"addresses": found}}


def test_services_have_the_addresses_of_nodes_properties_for_providers_and_a_way_back() -> None:
    """Rule 29: `access`, `alias`, `record-type`."""
    provider = AnsweringMemory((ZONE, OTHER, REVERSE))
    world = cluster()

    def targets(name: str, type_: str, zone: str = ZONE) -> tuple[str, ...]:
        found = provider.content(zone).get((name, type_, ""))
        return found.targets if found is not None else ()

    async def story() -> None:
        world.store.create(node("one", "192.0.2.11", "192.0.2.21"))
        inside = service("in", {"hostname": f"in.{ZONE}", "access": "private"}, type="NodePort")
        world.store.create(inside)
        world.store.create(service("out", {"hostname": f"out.{ZONE}", "record-type": "ptr"}, type="NodePort"))
        world.store.create(
            service("far", {"hostname": f"far.{ZONE}", "alias": "true"}, type="ExternalName", externalName="x.test")
        )
        under = rules(zones=provider.zones, sources=frozenset(("service",)), types=ALL_TYPES)
        async with operating(world, provider, under):
            await until(lambda: targets(f"in.{ZONE}", "A") == ("192.0.2.11",), "its private address")
            await until(lambda: targets(f"out.{ZONE}", "A") == ("192.0.2.21",), "its public address")
            await until(lambda: targets(f"21.{REVERSE}", "PTR", REVERSE) == (f"out.{ZONE}",), "the way back")
            await until(lambda: targets(f"far.{ZONE}", "CNAME") == ("x.test",), "another name")
            far = provider.content(ZONE).get((f"far.{ZONE}", "CNAME", ""))
            assert far is not None
            assert far.properties == (("alias", "true"),)
            world.store.create(node("two", "192.0.2.12", "192.0.2.22"))
            await until(lambda: targets(f"in.{ZONE}", "A") == ("192.0.2.11", "192.0.2.12"), "the new node, too")

    asyncio.run(story())


def gateway_crd(kind: str, plural: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    group = "gateway.networking.k8s.io"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "https://example.org"}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


def test_a_route_leads_to_the_gateway_that_has_accepted_it_and_follows_it() -> None:
    """Rule 29."""
    provider = AnsweringMemory((ZONE, OTHER))
    world = cluster()
    root = "/apis/gateway.networking.k8s.io/v1/namespaces/default"
    head = {"apiVersion": "gateway.networking.k8s.io/v1", "metadata": {"namespace": "default"}}

    def served() -> tuple[str, ...]:
        found = provider.content(ZONE).get((f"web.{ZONE}", "A", ""))
        return found.targets if found is not None else ()

    async def story() -> None:
        world.store.create(gateway_crd("Gateway", "gateways"))
        world.store.create(gateway_crd("HTTPRoute", "httproutes"))
        gateway = {**head, "kind": "Gateway", "metadata": {"name": "gw", "namespace": "default"}}
        gateway["spec"] = {"listeners": [{"name": "web", "port": 80, "protocol": "HTTP"}]}
        route = {
            **head,
            "kind": "HTTPRoute",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"hostnames": [f"web.{ZONE}"], "parentRefs": [{"name": "gw"}]},
        }
        ask(world, "POST", f"{root}/gateways", gateway)
        ask(world, "POST", f"{root}/httproutes", route)
        async with operating(world, provider, rules(sources=frozenset(("httproute",)))):
            condition = {"type": "Accepted", "status": "True", "reason": "Accepted", "message": ""}
            accepted = [{**condition, "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}]
            parents = [{"parentRef": {"name": "gw"}, "controllerName": "x.test/y", "conditions": accepted}]
            ask(world, "PATCH", f"{root}/httproutes/web/status", {"status": {"parents": parents}})
            ask(world, "PATCH", f"{root}/gateways/gw/status", {"status": {"addresses": [{"value": "192.0.2.5"}]}})
            await until(lambda: served() == ("192.0.2.5",), "the route has its name")
            ask(world, "PATCH", f"{root}/gateways/gw/status", {"status": {"addresses": [{"value": "192.0.2.6"}]}})
            await until(lambda: served() == ("192.0.2.6",), "it follows its gateway")

    asyncio.run(story())


def test_without_the_crd_source_dnsendpoints_are_let_alone() -> None:
    """Rule 31."""
    provider = AnsweringMemory((ZONE, OTHER))
    world = cluster()

    async def story() -> None:
        world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1"))
        world.store.create(service("far", {"hostname": f"far.{ZONE}"}, type="ExternalName", externalName="x.test"))
        async with operating(world, provider, rules(sources=frozenset(("service",)))) as operator:
            await until(lambda: provider.content(ZONE).at(f"far.{ZONE}"), "the Service has its name")
            assert await synced(world, operator, 10) == []
        assert "finalizers" not in world.get("www")["metadata"]
        assert provider.content(ZONE).at(f"www.{ZONE}") == ()

    asyncio.run(story())


def test_without_status_updates_records_are_served_and_removed_all_the_same() -> None:
    """Rule 31."""
    provider = AnsweringMemory((ZONE, OTHER))
    world = cluster()

    async def story() -> None:
        world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1"))
        async with operating(world, provider, rules(update_status=False)):
            await until(lambda: provider.content(ZONE).at(f"www.{ZONE}"), "it is served")
            assert world.says("www")[:2] == ("Unknown", "Pending")  # the CRD's own first statement
            world.delete("www")
            await until(lambda: world.get("www") is None, "it goes")
        assert not provider.content(ZONE).names

    asyncio.run(story())


def test_set_identifiers_tell_records_of_one_name_apart_where_a_provider_can() -> None:
    provider = AnsweringMemory((ZONE, OTHER))
    world = cluster()
    name = f"www.{ZONE}"

    async def story() -> None:
        world.apply("east", endpoint(name, "A", "192.0.2.1", setIdentifier="east", recordTTL=60))
        world.apply("west", endpoint(name, "A", "192.0.2.2", setIdentifier="west", recordTTL=90))
        async with operating(world, provider, rules()):
            await until(lambda: world.ready("east") and world.ready("west"), lambda: world.says("east"))
            held = {record.set_identifier: record.targets for record in provider.content(ZONE).at(name)}
            assert held == {"east": ("192.0.2.1",), "west": ("192.0.2.2",)}
            owners = {record.set_identifier for record in provider.content(ZONE).at(f"a-{name}")}
            assert owners == {"east", "west"}
            world.delete("east")
            await until(lambda: world.get("east") is None, lambda: world.says("east"))
            assert [record.set_identifier for record in provider.content(ZONE).at(name)] == ["west"]
            assert world.ready("west")

    asyncio.run(story())


# ---- what people see besides, and who does the work


def test_events_say_when_an_object_is_in_trouble_and_when_it_has_recovered() -> None:
    provider = AnsweringMemory((ZONE, OTHER), deny=[f"no.{ZONE}"])
    world = cluster()

    def events(name: str) -> set[tuple[str, str]]:
        return {
            (one["type"], one["reason"])
            for one in world.store.objects("events")
            if one["involvedObject"]["name"] == name
        }

    async def story() -> None:
        world.apply("no", endpoint(f"no.{ZONE}", "A", "192.0.2.1"))
        world.apply("bad", endpoint(f"bad.{ZONE}", "A", "nonsense"))
        async with operating(world, provider, rules()):
            await until(lambda: ("Warning", "Failed") in events("no"), lambda: events("no"))
            await until(lambda: ("Warning", "NotAccepted") in events("bad"), lambda: events("bad"))
            provider.deny.clear()
            await until(lambda: ("Normal", "Programmed") in events("no"), lambda: events("no"), 40)

    asyncio.run(story())


class Counting(AnsweringMemory):
    """One replica's way to zones that all replicas share."""

    def __init__(self, shared: AnsweringMemory) -> None:
        super().__init__(shared.zones)
        self._contents = shared._contents


def test_failure_7_of_two_replicas_one_works_and_the_other_takes_over() -> None:
    """There, no leader was elected."""
    shared = AnsweringMemory((ZONE, OTHER))
    world = cluster()
    settings = Settings(
        leader_election=True, lease_duration=2.0, namespace="default", workers=8, stop_grace=1, health_address=""
    )

    def replica(name: str) -> tuple[Counting, Operator]:
        provider = Counting(shared)
        inside = World(EmbeddedTransport(world.store), SystemClock(), Random(1), name)
        return provider, Operator(inside, controllers(Options(rules(), TIMING), provider), settings)

    async def stop(task: asyncio.Task[None]) -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def story() -> None:
        loop = asyncio.get_running_loop()
        one, first = replica("one")
        two, second = replica("two")
        async with AsyncExitStack() as stack:
            leading = loop.create_task(first.run())
            stack.push_async_callback(stop, leading)
            await until(lambda: one.reads, "the first leads")
            waiting = loop.create_task(second.run())
            stack.push_async_callback(stop, waiting)
            world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.1"))
            await until(lambda: world.ready("www"), lambda: world.says("www"))
            assert (one.updates, two.updates, two.reads) == (1, 0, 0)
            await stop(leading)
            world.apply("www", endpoint(f"www.{ZONE}", "A", "192.0.2.2"))
            await until(lambda: world.ready("www"), lambda: world.says("www"), 40)
            assert (one.updates, two.updates) == (1, 1)

    asyncio.run(story())
