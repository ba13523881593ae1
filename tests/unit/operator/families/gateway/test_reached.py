"""What Programmed claims about the address and the ports of a gateway."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seamark.api.gatewayinfra import FrontBalancer, FrontIngress, FrontService, FrontServiceSpec, FrontStatus
from seamark.families.gateway.gateway.reconcile import programmed
from seamark.families.gateway.listeners.state import GatewayFacts
from seamark.families.gateway.listeners.status import listener_programmed
from seamark.families.gateway.model.addresses import AddressAssignment, mapped_ports
from seamark.families.gateway.model.results import ProgrammedResult, ProgrammedState
from seamark_runtime.api.core import IngressPort, ServicePort
from seamark_runtime.api.meta import Condition, ObjectMeta
from tests.unit.operator.families.gateway.given import given

SERVED = ProgrammedResult(ProgrammedState.SERVED)


def conditions(assignment: AddressAssignment) -> tuple[Condition, Condition]:
    """Programmed of a gateway that its data plane serves, and of its listener."""
    facts = GatewayFacts(replace(given().gateway, assignment=assignment), SERVED)
    return programmed(facts), listener_programmed(facts.view.listeners[0], facts)


@pytest.mark.parametrize(
    "assignment",
    [AddressAssignment(), AddressAssignment(("192.0.2.1",), unreached="its Service has no endpoint")],
)
def test_no_listener_is_programmed_while_its_gateway_has_no_address_that_traffic_reaches(
    assignment: AddressAssignment,
) -> None:
    gateway, listener = conditions(assignment)
    assert (gateway.status, listener.status) != ("True", "True")
    assert listener.status == "Unknown"


def test_a_port_that_clients_reach_under_another_number_is_named() -> None:
    ports = (ServicePort(name="p80", port=80), ServicePort(name="p443", port=443))
    ingress = FrontIngress(
        ip="192.0.2.9", ports=(IngressPort(port=20001, protocol="TCP"), IngressPort(port=443, protocol="TCP"))
    )
    service = FrontService(
        metadata=ObjectMeta(name="gw"),
        spec=FrontServiceSpec(type="LoadBalancer", ports=ports),
        status=FrontStatus(load_balancer=FrontBalancer(ingress=(ingress,))),
    )
    mapped = mapped_ports(service)
    assert mapped == ((80, "192.0.2.9:20001"),)
    gateway, listener = conditions(AddressAssignment(("192.0.2.9",), mapped=mapped))
    assert gateway.message == "Gateway is programmed; port 80 is reached at 192.0.2.9:20001"
    assert listener.message == "Listener is programmed; port 80 is reached at 192.0.2.9:20001"


def test_without_other_numbers_nothing_is_added() -> None:
    gateway, listener = conditions(AddressAssignment(("192.0.2.9",)))
    assert (gateway.message, listener.message) == ("Gateway is programmed", "Listener is programmed")
