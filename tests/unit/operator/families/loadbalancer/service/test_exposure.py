"""What a Service asks for: limits and the messages about them."""

from __future__ import annotations

import pytest

from seamark.families.loadbalancer.model.names import COMPUTED_URL, COMPUTED_URLS, MADE_FROM, child_name, digest
from seamark.families.loadbalancer.service.children import first_served
from seamark.families.loadbalancer.service.exposure import (
    FIRST,
    MOST_PORTS,
    Exposure,
    Mistake,
    annotations_for,
    exposure_of,
)
from seamark_edge.api.ngrok import AgentEndpoint, AgentEndpointSpec, Upstream
from seamark_edge.urls import Place, place
from seamark_runtime.api.core import Service, ServicePort, ServiceSpec
from seamark_runtime.api.meta import ManagedMeta, to_wire


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


class Edge:
    """A Service over several changes of its ports, as the edge and its endpoints follow them."""

    def __init__(self, url: str = "") -> None:
        self.annotations = {"k8s.ngrok.com/url": url} if url else {}
        self.kept: dict[str, Place] = {}  # what is reserved, by purpose
        self.agents: tuple[AgentEndpoint, ...] = ()
        self.assigned = 0

    def ports(self, *numbers: int) -> dict[int, str]:
        """Where each port is reached when the Service has these."""
        ports = tuple(ServicePort(name=f"p{number}", port=number) for number in numbers)
        metadata = ManagedMeta(name="web", namespace="default", uid="uid-1", annotations=self.annotations)
        service = Service(
            metadata=metadata, spec=ServiceSpec(type="LoadBalancer", load_balancer_class="ngrok", ports=ports)
        )
        exposure = exposure_of(service, first_served(service, self.agents))
        assert isinstance(exposure, Exposure)
        for purpose in exposure.purposes:
            if purpose not in self.kept:
                self.assigned += 1
                self.kept[purpose] = place(f"tcp://1.tcp.edge:{self.assigned}")
        self.kept = {purpose: self.kept[purpose] for purpose in exposure.purposes}
        places = self.kept if exposure.chosen else dict.fromkeys(exposure.by_purpose, exposure.place)
        url = {"k8s.ngrok.com/url": self.annotations["k8s.ngrok.com/url"]} if exposure.place.fixed else {}
        self.annotations = {**url, **annotations_for(places, exposure)}
        first = exposure.by_purpose.get(FIRST)
        self.agents = (self.agent(service, first.port),) if first is not None else ()
        return {port.port: str(places[purpose]) for purpose, port in exposure.by_purpose.items()}

    @staticmethod
    def agent(service: Service, port: int) -> AgentEndpoint:
        spec = AgentEndpointSpec(
            url="tcp://1.tcp.edge:1", upstream=Upstream(url=f"tcp://web.default.svc.cluster.local:{port}")
        )
        name, notes = child_name(service, f"agent/{FIRST}"), {MADE_FROM: digest(to_wire(spec))}
        meta = ManagedMeta(name=name, namespace="default", annotations=notes)
        return AgentEndpoint(metadata=meta, spec=spec)


def test_a_port_that_is_added_in_front_does_not_take_the_first_address() -> None:
    """Service rule 10."""
    edge = Edge()
    [(_, before)] = edge.ports(8087).items()
    after = edge.ports(80, 8087)
    assert after[8087] == before
    assert after[80] != before
    later = edge.ports(80, 8087, 9000)
    assert later == later | after
    assert edge.annotations[COMPUTED_URL] == before


def test_the_address_of_a_port_that_is_removed_is_no_others() -> None:
    """Service rules 9 and 10."""
    edge = Edge()
    before = edge.ports(80, 8087)
    assert edge.ports(8087) == {8087: before[8087]}
    assert edge.annotations[COMPUTED_URL] == before[8087]
    assert before[80] not in edge.annotations[COMPUTED_URLS]
    later = edge.ports(70, 8087)
    assert later[8087] == before[8087]
    assert later[70] not in before.values()
    again = edge.ports(70, 80, 8087)
    assert again == later | {80: again[80]}


def test_of_several_ports_one_that_is_renumbered_gets_an_address_of_its_own() -> None:
    """Service rule 10."""
    edge = Edge()
    before = edge.ports(80, 81)
    after = edge.ports(81, 82)
    assert after[81] == before[81]
    assert after[82] not in before.values()


def test_a_single_port_keeps_its_address_when_its_number_changes() -> None:
    """Service rule 10."""
    edge = Edge()
    assert list(edge.ports(80).values()) == list(edge.ports(8080).values())
    assert edge.ports(80, 8080)[8080] == edge.annotations[COMPUTED_URL]


def test_a_fixed_address_stays_with_the_port_that_has_it() -> None:
    """Service rule 10."""
    edge = Edge("tls://shop.example.com")
    assert list(edge.ports(8087)) == [8087]
    assert list(edge.ports(80, 8087)) == [8087]
    assert list(edge.ports(80)) == [80]


def test_without_an_endpoint_no_other_port_takes_the_first_address() -> None:
    """Service rule 10."""
    edge = Edge()
    before = edge.ports(81)
    edge.agents = ()
    assert before[81] not in edge.ports(80, 81).values()
    both = edge.ports(80, 81)
    edge.agents = ()
    assert edge.ports(80, 81) == both
