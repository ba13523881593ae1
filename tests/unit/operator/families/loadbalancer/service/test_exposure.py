"""What a Service asks for: limits and the messages about them."""

from __future__ import annotations

import pytest

from seamark.families.loadbalancer.service.exposure import MOST_PORTS, Exposure, Mistake, exposure_of
from seamark_runtime.api.core import Service, ServicePort, ServiceSpec


def service(count: int, protocol: str = "TCP") -> Service:
    ports = tuple(ServicePort(port=number, protocol=protocol) for number in range(1, count + 1))
    return Service(spec=ServiceSpec(type="LoadBalancer", load_balancer_class="ngrok", ports=ports))


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_more_ports_than_are_served_are_refused_with_the_limit(protocol: str) -> None:
    assert isinstance(exposure_of(service(MOST_PORTS, protocol)), Exposure)
    refused = exposure_of(service(20_000, protocol))
    assert isinstance(refused, Mistake)
    assert refused.reason == "TooManyPorts"
    assert refused.message == "spec.ports has 20000 entries; at most 1000 are allowed: use several Services"


def test_a_message_lists_a_few_ports() -> None:
    asked = exposure_of(service(500, "UDP"))
    assert isinstance(asked, Exposure)
    assert asked.lacks is not None
    assert "1/UDP, 2/UDP" in asked.lacks.message
    assert "10/UDP and 490 more can't be reached" in asked.lacks.message
