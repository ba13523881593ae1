"""The ports of a Gateway: its own before those that others add."""

from __future__ import annotations

import msgspec

from seamark.gatewayapi.listeners import ordered_ports
from seamark_runtime.api.gateway import Gateway, ListenerSet


def gateway(*ports: int) -> Gateway:
    listeners = [{"name": f"l{port}", "port": port, "protocol": "TCP"} for port in ports]
    spec = {"gatewayClassName": "kgateway", "listeners": listeners}
    return msgspec.convert({"metadata": {"name": "web", "namespace": "shop"}, "spec": spec}, Gateway)


def listener_set(*ports: int, name: str = "set", namespace: str = "tenant", protocol: str = "TCP") -> ListenerSet:
    listeners = [{"name": f"l{port}", "port": port, "protocol": protocol} for port in ports]
    spec = {"parentRef": {"name": "web", "namespace": "shop"}, "listeners": listeners}
    metadata = {"name": name, "namespace": namespace, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return msgspec.convert({"metadata": metadata, "spec": spec}, ListenerSet)


def test_the_ports_of_a_gateways_own_listeners_come_first() -> None:
    assert ordered_ports(gateway(8087, 8080), [listener_set(80, 9000)]) == (8080, 8087, 80, 9000)
    assert ordered_ports(gateway(8087), [listener_set(8087, 80)]) == (8087, 80)
