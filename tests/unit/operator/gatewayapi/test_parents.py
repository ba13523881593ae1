"""What a route's status says of its parents."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.gatewayapi.attachment import AttachingRoute
from seamark.gatewayapi.listeners import ParentKey
from seamark.gatewayapi.parents import accepting, awaited, listeners_without, parent_key, programmed, served_hostnames
from seamark_runtime.api.gateway import Gateway, HTTPRoute, ParentReference
from seamark_runtime.api.meta import Key


def condition(type_: str, status: str = "True", generation: int | None = 3) -> dict[str, Any]:
    found = {"type": type_, "status": status, "reason": "A", "message": "", "lastTransitionTime": ""}
    return {**found, **({"observedGeneration": generation} if generation is not None else {})}


def entry(parent: dict[str, Any], *conditions: dict[str, Any], controller: str = "example.com/a") -> dict[str, Any]:
    return {"parentRef": parent, "controllerName": controller, "conditions": list(conditions)}


def route(*entries: dict[str, Any], parents: tuple[str, ...] = ("web",)) -> HTTPRoute:
    raw = {
        "metadata": {"name": "shop", "namespace": "ns", "generation": 3},
        "spec": {"parentRefs": [{"name": name} for name in parents]},
        "status": {"parents": list(entries)},
    }
    return msgspec.convert(raw, HTTPRoute)


WEB = {"name": "web"}
STALE, NOW = condition("Accepted", generation=2), condition("Accepted")


@pytest.mark.parametrize(
    ("given", "accepts", "waits"),
    {
        "no entry": (route(), [], False),
        "accepted": (route(entry(WEB, NOW)), ["web"], False),
        "with the defaults written out": (
            route(entry({"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "ns", **WEB}, NOW)),
            ["web"],
            False,
        ),
        "for no generation": (route(entry(WEB, condition("Accepted", generation=None))), ["web"], False),
        "refused": (route(entry(WEB, condition("Accepted", "False"))), [], False),
        "unknown": (route(entry(WEB, condition("Accepted", "Unknown"))), [], False),
        "for an earlier generation": (route(entry(WEB, STALE)), [], True),
        "refused in an earlier generation": (route(entry(WEB, condition("Accepted", "False", 2))), [], False),
        "by an earlier controller and the present one": (
            route(entry(WEB, STALE, controller="example.com/b"), entry(WEB, NOW)),
            ["web"],
            False,
        ),
        "by another parent": (route(entry(WEB, NOW), entry({"name": "b"}, STALE), parents=("web", "b")), ["web"], True),
        "by a parent that is not named any more": (route(entry({"name": "b"}, NOW)), [], False),
        "by another listener than the one that is named": (route(entry({"sectionName": "b", **WEB}, NOW)), [], False),
    }.values(),
)
def test_a_parent_accepts_a_route_in_its_present_generation(given: HTTPRoute, accepts: list[str], waits: bool) -> None:
    assert [found.parent_ref.name for found in accepting(given)] == accepts
    assert awaited(given) is waits


def test_a_parent_is_a_gateway_or_a_listener_set() -> None:
    assert parent_key(ParentReference(name="web"), "ns") == ParentKey("Gateway", Key("ns", "web"))
    elsewhere = ParentReference(name="more", kind="ListenerSet", namespace="infra")
    assert parent_key(elsewhere, "ns") == ParentKey("ListenerSet", Key("infra", "more"))
    assert parent_key(ParentReference(name="web", kind="Service", group=""), "ns") is None
    assert parent_key(ParentReference(name="web", kind="Mesh"), "ns") is None


def gateway(**status: Any) -> Gateway:
    listeners = [
        {"name": "a", "port": 80, "protocol": "HTTP", "hostname": "*.a.test"},
        {"name": "b", "port": 80, "protocol": "HTTP", "hostname": "b.test"},
    ]
    raw = {
        "metadata": {"name": "web", "namespace": "ns", "generation": 3},
        "spec": {"listeners": listeners},
        "status": status,
    }
    return msgspec.convert(raw, Gateway)


def test_listeners_that_are_reported_as_failing_are_left_out() -> None:
    failing = gateway(listeners=[{"name": "a", "conditions": [condition("Programmed", "False")]}])
    assert [listener.id.name for listener in listeners_without(failing, "Accepted", "Programmed")] == ["b"]
    assert [listener.id.name for listener in listeners_without(failing, "Accepted")] == ["a", "b"]


def test_a_gateway_is_programmed_in_its_present_generation() -> None:
    assert programmed(gateway(conditions=[condition("Programmed")]))
    assert not programmed(gateway(conditions=[condition("Programmed", generation=2)]))
    assert not programmed(gateway())


@pytest.mark.parametrize(
    ("hostnames", "section", "served"),
    [
        (("x.a.test", "b.test", "c.test"), None, ("x.a.test", "b.test")),
        (("*.test",), None, ("*.a.test", "b.test")),
        (("c.test",), None, ()),
        ((), None, ("*.a.test", "b.test")),
        (("x.a.test", "b.test"), "b", ("b.test",)),
        (("c.test",), "gone", ("c.test",)),  # the parent has accepted it all the same
    ],
)
def test_listeners_narrow_the_host_names_of_a_route(
    hostnames: tuple[str, ...], section: str | None, served: tuple[str, ...]
) -> None:
    attaching = AttachingRoute("HTTPRoute", Key("ns", "shop"), hostnames, namespace_labels=None)
    reference = ParentReference(name="web", section_name=section)
    assert served_hostnames(attaching, reference, listeners_without(gateway(), "Accepted")) == served
