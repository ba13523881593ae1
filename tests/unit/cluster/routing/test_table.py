"""The routes of a Service's addresses."""

from __future__ import annotations

from typing import Any

import msgspec

from seamark_cluster.routing.balance import Balance
from seamark_cluster.routing.table import Address, Front, Route, routes
from seamark_runtime.api.core import Service
from seamark_runtime.api.discovery import EndpointSlice


def service(**spec: Any) -> Service:
    usual = {"clusterIP": "10.96.0.5", "clusterIPs": ["10.96.0.5"], "ports": [{"name": "web", "port": 80}]}
    return msgspec.convert({"metadata": {"name": "s", "namespace": "n"}, "spec": {**usual, **spec}}, Service)


def endpoint_slice(*endpoints: tuple[str, dict[str, bool]], ports: dict[str, int] | None = None) -> EndpointSlice:
    document = {
        "metadata": {"name": "s-1", "namespace": "n", "labels": {"kubernetes.io/service-name": "s"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "conditions": conditions} for address, conditions in endpoints],
        "ports": [{"name": name, "port": port} for name, port in (ports or {"web": 3000}).items()],
    }
    return msgspec.convert(document, EndpointSlice)


READY = {"ready": True}
VIP = Front("TCP", Address("10.96.0.5", 80))


def test_a_port_leads_to_the_ready_endpoints_by_its_name() -> None:
    ports = {"web": 3000, "admin": 9000}
    slices = [
        endpoint_slice(("10.244.0.3", READY), ("10.244.0.2", READY), ("10.244.0.4", {"ready": False}), ports=ports)
    ]
    both = service(ports=[{"name": "web", "port": 80}, {"name": "admin", "port": 8080}])
    assert routes(both, slices) == {
        VIP: Route((Address("10.244.0.2", 3000), Address("10.244.0.3", 3000))),
        Front("TCP", Address("10.96.0.5", 8080)): Route((Address("10.244.0.2", 9000), Address("10.244.0.3", 9000))),
    }


def test_an_endpoint_without_conditions_counts_as_ready() -> None:
    assert routes(service(), [endpoint_slice(("10.244.0.2", {}))])[VIP].backends == (Address("10.244.0.2", 3000),)


def test_several_slices_are_one_service_and_an_endpoint_in_two_of_them_counts_once() -> None:
    slices = [endpoint_slice(("10.244.0.2", READY)), endpoint_slice(("10.244.0.2", READY), ("10.244.0.3", READY))]
    assert len(routes(service(), slices)[VIP].backends) == 2


def test_terminating_endpoints_serve_while_there_are_no_others() -> None:
    ending = ("10.244.0.2", {"ready": False, "serving": True, "terminating": True})
    assert routes(service(), [endpoint_slice(ending)])[VIP].backends == (Address("10.244.0.2", 3000),)
    assert routes(service(), [endpoint_slice(ending, ("10.244.0.3", READY))])[VIP].backends == (
        Address("10.244.0.3", 3000),
    )


def test_nothing_listens_without_endpoints_and_for_headless_and_external_names() -> None:
    slices = [endpoint_slice(("10.244.0.2", READY))]
    assert routes(service(), []) == {}
    assert routes(service(), [endpoint_slice(("10.244.0.2", {"ready": False}))]) == {}
    assert routes(service(clusterIP="None", clusterIPs=["None"]), slices) == {}
    assert routes(service(type="ExternalName", externalName="x.example"), slices) == {}


def test_a_node_port_listens_at_the_node() -> None:
    node_port = service(type="NodePort", ports=[{"name": "web", "port": 80, "nodePort": 30080}])
    assert Front("TCP", Address("10.244.0.1", 30080)) in routes(
        node_port, [endpoint_slice(("10.244.0.2", READY))], "10.244.0.1"
    )


def test_a_port_leads_to_endpoints_of_its_own_protocol() -> None:
    both = service(ports=[{"name": "dns", "port": 53, "protocol": "UDP"}, {"name": "dns", "port": 53}])
    document = msgspec.to_builtins(endpoint_slice(("10.244.0.2", READY)))
    ports = [{"name": "dns", "port": 5353, "protocol": "UDP"}, {"name": "dns", "port": 5354, "protocol": "TCP"}]
    found = routes(both, [msgspec.convert({**document, "ports": ports}, EndpointSlice)])
    address = Address("10.96.0.5", 53)
    assert found[Front("UDP", address)].backends == (Address("10.244.0.2", 5353),)
    assert found[Front("TCP", address)].backends == (Address("10.244.0.2", 5354),)


def test_affinity_lasts_as_long_as_the_service_sets() -> None:
    slices = [endpoint_slice(("10.244.0.2", READY))]
    config = {"clientIP": {"timeoutSeconds": 60}}
    assert routes(service(sessionAffinity="ClientIP"), slices)[VIP].affinity == 10800
    assert routes(service(sessionAffinity="ClientIP", sessionAffinityConfig=config), slices)[VIP].affinity == 60


A, B, C = (Address(f"10.244.0.{number}", 1) for number in (2, 3, 4))


def test_backends_take_turns_and_all_of_them_are_candidates() -> None:
    balance = Balance(lambda: 0.0)
    seen = [list(balance.candidates(Route((A, B, C)), "client")) for _ in range(4)]
    assert [order[0] for order in seen] == [A, B, C, A]
    assert all(set(order) == {A, B, C} for order in seen)


def test_a_client_stays_with_its_backend_until_that_goes_or_time_is_up() -> None:
    now = 0.0
    balance, route = Balance(lambda: now), Route((A, B, C), affinity=60)
    balance.stay(route, "client", B)
    assert [next(balance.candidates(route, "client")) for _ in range(3)] == [B, B, B]
    assert next(balance.candidates(Route((A, C), affinity=60), "client")) != B
    now = 61.0
    assert len({next(balance.candidates(route, "client")) for _ in range(3)}) == 3
