"""The ports of a Gateway: its own before those that others add, of which there is a limited number."""

from __future__ import annotations

import msgspec

from seamark.families.gateway.gateway.certificates import ListenerCertificates
from seamark.families.gateway.gateway.listeners import listener_view
from seamark.gatewayapi.listeners import GatewayPorts, accepted_ports, declared_listeners, refusals
from seamark_runtime.api.gateway import Gateway, ListenerSet

SHARE = 16


def gateway(*ports: int, protocol: str = "TCP") -> Gateway:
    listeners = [{"name": f"l{port}", "port": port, "protocol": protocol} for port in ports]
    spec = {"gatewayClassName": "kgateway", "listeners": listeners}
    return msgspec.convert({"metadata": {"name": "web", "namespace": "shop"}, "spec": spec}, Gateway)


def listener_set(*ports: int, namespace: str = "tenant", protocol: str = "TCP", age: int = 1) -> ListenerSet:
    listeners = [{"name": f"l{port}", "port": port, "protocol": protocol} for port in ports]
    spec = {"parentRef": {"name": "web", "namespace": "shop"}, "listeners": listeners}
    metadata = {"name": f"set-{age}", "namespace": namespace, "creationTimestamp": f"2026-01-01T00:00:0{age}Z"}
    return msgspec.convert({"metadata": metadata, "spec": spec}, ListenerSet)


def test_the_ports_of_a_gateways_own_listeners_come_first() -> None:
    """Gateway rule 14."""
    near = listener_set(90, namespace="shop")
    found = accepted_ports(gateway(8087, 8080), [listener_set(80, 8087, 9000), near], SHARE)
    assert found == GatewayPorts(own=(8080, 8087, 90), foreign=(80, 9000))
    assert found.all == (8080, 8087, 90, 80, 9000)


def test_a_listener_that_is_refused_has_no_port() -> None:
    """Gateway rule 14."""
    unknown, conflicting = listener_set(53, protocol="UDP"), listener_set(8087, 81, protocol="HTTP", age=2)
    assert accepted_ports(gateway(8087), [unknown, conflicting], SHARE) == GatewayPorts((8087,), (81,))


def test_a_gateway_without_an_accepted_listener_has_its_own_ports() -> None:
    """Gateway rule 14."""
    assert accepted_ports(gateway(53, protocol="UDP"), [], SHARE) == GatewayPorts((53,))


def test_the_ports_that_another_namespace_adds_are_limited() -> None:
    """Gateway rule 14."""
    first, second = listener_set(*range(1000, 1010)), listener_set(*range(1005, 1100), 8087, age=2)
    other = listener_set(*range(2000, 2003), namespace="other", age=3)
    sets = [second, other, first]
    found = accepted_ports(gateway(8087), sets, SHARE)
    assert found.foreign == (*range(1000, 1016), *range(2000, 2003))
    refused = refusals(declared_listeners(gateway(8087), sets), gateway(8087), SHARE)
    assert {listener.key.name for listener in refused} == {"set-2"}
    assert accepted_ports(gateway(8087), sets, 0).foreign == (*range(1000, 1100), *range(2000, 2003))


def test_the_ports_of_a_gateways_own_namespace_are_not_limited() -> None:
    """Gateway rule 14."""
    near = listener_set(*range(1000, 1064), namespace="shop")
    assert len(accepted_ports(gateway(80), [near], SHARE).own) == 65


def test_a_listener_beyond_the_limit_is_refused_with_its_cause() -> None:
    """Gateway rule 14."""
    declared = declared_listeners(gateway(80), [listener_set(*range(1000, 1020))])
    refused = refusals(declared, gateway(80), SHARE)
    last = declared[-1]
    seen = listener_view(last, refused[last.id], lambda _: ListenerCertificates(), SHARE)
    accepted, conflicted, _ = seen.conditions
    assert (accepted.status, accepted.reason) == ("False", "PortUnavailable")
    assert "Port 1019" in accepted.message
    assert "may add 16 ports" in accepted.message
    assert "gateway_foreign_ports" in accepted.message
    assert conflicted.status == "False"
    assert seen.refusal == "PortUnavailable"
