"""What other tenants ask for changes neither the ports nor the addresses of a Gateway."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.families.gateway.addresses.reconcile import address_request, assign
from seamark.families.gateway.addresses.state import Pool
from seamark.families.gateway.model.addresses import AddressAssignment
from seamark.gatewayapi.listeners import ports as ports_of
from seamark_runtime.api.gateway import Gateway, GatewayStatus, ListenerSet
from seamark_runtime.api.meta import Key


class Sets:
    """A view of listener sets, whatever gateway they name."""

    def __init__(self, *sets: ListenerSet) -> None:
        self._sets = sets

    def by(self, _index: Any, _key: Key) -> tuple[ListenerSet, ...]:
        return self._sets


def gateway(name: str, **spec: Any) -> Gateway:
    listeners = [{"name": "http", "port": 80, "protocol": "HTTP"}]
    manifest = {
        "metadata": {"name": name, "namespace": "shop", "uid": name},
        "spec": {"gatewayClassName": "kgateway", "listeners": listeners, **spec},
    }
    return msgspec.convert(manifest, Gateway)


def listener_set(namespace: str, port: int) -> ListenerSet:
    manifest = {
        "metadata": {"name": "set", "namespace": namespace},
        "spec": {
            "parentRef": {"name": "web", "namespace": "shop"},
            "listeners": [{"name": "m", "port": port, "protocol": "HTTP"}],
        },
    }
    return msgspec.convert(manifest, ListenerSet)


@pytest.mark.parametrize(("who", "ports"), [("None", (80,)), ("Same", (80, 81)), ("All", (80, 81, 6666))])
def test_a_listener_set_that_is_not_allowed_opens_no_port(who: str, ports: tuple[int, ...]) -> None:
    view: Any = Sets(listener_set("shop", 81), listener_set("mallory", 6666))
    allowed = {"allowedListeners": {"namespaces": {"from": who}}}
    assert ports_of(view, gateway("web", **allowed), 16).all == ports


def test_without_permission_no_listener_set_opens_a_port() -> None:
    view: Any = Sets(listener_set("mallory", 6666))
    assert ports_of(view, gateway("web"), 16).all == (80,)


def test_a_gateway_behind_a_service_keeps_its_address_from_another_that_names_it() -> None:
    served = msgspec.structs.replace(
        gateway("web"),
        status=msgspec.convert({"addresses": [{"value": "203.0.113.9"}]}, GatewayStatus),
    )
    greedy = gateway("greedy", addresses=[{"type": "IPAddress", "value": "192.0.2.1"}])
    last = AddressAssignment(("192.0.2.1",))
    requests = (address_request(greedy), address_request(served, last))
    assigned = assign(Pool(("192.0.2.0/24",), requests))
    assert assigned[served.key] == last
    assert assigned[greedy.key].addresses == ()
