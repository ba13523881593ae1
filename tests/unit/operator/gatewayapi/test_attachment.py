"""Whether a route attaches to a parent: through which listeners, under which host names, or why not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seamark.gatewayapi.attachment import AttachingRoute, NotAttached, attach
from seamark.gatewayapi.listeners import ListenerId, ListenerSpec
from seamark_runtime.api.gateway import LabelSelector, ParentReference
from seamark_runtime.api.meta import Key

GATEWAY = Key("infra", "gateway")
HTTP = ListenerSpec(
    ListenerId("Gateway", GATEWAY, "http"), 80, "HTTP", "*.example.com", ("HTTPRoute",), "All", None, passthrough=False
)
OTHER = replace(HTTP, id=HTTP.id._replace(name="other"), port=8080, hostname="")
ROUTE = AttachingRoute("HTTPRoute", Key("shop", "web"), ("a.example.com", "b.other.com"))
PARENT = ParentReference(name="gateway", namespace="infra")


def test_a_route_attaches_to_every_listener_that_takes_it() -> None:
    assert attach(ROUTE, PARENT, (HTTP, OTHER)) == {
        HTTP.id: ("a.example.com",),
        OTHER.id: ("a.example.com", "b.other.com"),
    }


def test_a_section_and_a_port_narrow_the_listeners() -> None:
    by_name = ParentReference(name="gateway", section_name="other")
    by_port = ParentReference(name="gateway", port=80)
    assert attach(ROUTE, by_name, (HTTP, OTHER)) == {OTHER.id: ("a.example.com", "b.other.com")}
    assert attach(ROUTE, by_port, (HTTP, OTHER)) == {HTTP.id: ("a.example.com",)}


@pytest.mark.parametrize(
    ("listener", "parent", "reason"),
    [
        (HTTP, ParentReference(name="gateway", section_name="gone"), NotAttached.NO_SUCH_LISTENER),
        (HTTP, ParentReference(name="gateway", port=81), NotAttached.NO_SUCH_LISTENER),
        (replace(HTTP, accepted=False), PARENT, NotAttached.NOT_ACCEPTED),
        (replace(HTTP, kinds=("GRPCRoute",)), PARENT, NotAttached.NOT_ALLOWED),
        (replace(HTTP, allowed_from="Same"), PARENT, NotAttached.NOT_ALLOWED),
        (replace(HTTP, allowed_from="None"), PARENT, NotAttached.NOT_ALLOWED),
        (replace(HTTP, hostname="c.example.com"), PARENT, NotAttached.NO_COMMON_HOSTNAME),
    ],
)
def test_a_route_that_no_listener_takes_has_the_first_reason(
    listener: ListenerSpec, parent: ParentReference, reason: NotAttached
) -> None:
    assert attach(ROUTE, parent, (listener,)) is reason


def test_a_selector_is_compared_with_the_labels_of_the_routes_namespace() -> None:
    selecting = replace(HTTP, allowed_from="Selector", selector=LabelSelector(match_labels={"team": "shop"}))
    assert attach(ROUTE, PARENT, (selecting,)) is NotAttached.NOT_ALLOWED
    labelled = replace(ROUTE, namespace_labels={"team": "shop"})
    assert attach(labelled, PARENT, (selecting,)) == {HTTP.id: ("a.example.com",)}
