"""Reachable of a Gateway's Service is about the Gateway's own ports."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.families.loadbalancer.model.names import COMPUTED_URL, COMPUTED_URLS
from seamark.families.loadbalancer.service.exposure import exposure_of
from seamark.families.loadbalancer.service.reachable import reachable_as
from seamark.families.loadbalancer.service.state import ACCEPTED, ASSIGNED, Seen
from seamark.gatewayapi.listeners import FOREIGN_PORTS
from seamark_edge.api.ngrok import AgentEndpoint
from seamark_runtime.api.core import LoadBalancerIngress, Service
from seamark_runtime.calls import Results

ONLINE = ("EndpointCreated", "TrafficPolicyApplied", "DomainReady")
INGRESS = (LoadBalancerIngress(hostname="1.tcp.edge"),)


def service(foreign: str) -> Service:
    annotations = {COMPUTED_URL: "tcp://1.tcp.edge:1", COMPUTED_URLS: "80=tcp://1.tcp.edge:2"}
    metadata = {"name": "web", "namespace": "shop", "uid": "u", "annotations": {**annotations, FOREIGN_PORTS: foreign}}
    ports = [{"name": "p8087", "port": 8087}, {"name": "p80", "port": 80}]
    spec = {"type": "LoadBalancer", "loadBalancerClass": "ngrok", "ports": ports}
    return msgspec.convert({"metadata": metadata, "spec": spec}, Service)


def agent(place: int, status: str) -> AgentEndpoint:
    def condition(kind: str, value: str) -> dict[str, Any]:
        known = {"reason": "Dialled", "message": f"endpoint {place}", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        return {"type": kind, "status": value, **known}

    conditions = [*(condition(kind, "True") for kind in ONLINE), condition("UpstreamReachable", status)]
    spec = {"url": f"tcp://1.tcp.edge:{place}", "upstream": {"url": "tcp://web.shop:80"}}
    metadata = {"name": f"web-{place}", "namespace": "shop"}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": {"conditions": conditions}}, AgentEndpoint)


@pytest.mark.parametrize(
    ("foreign", "own", "other", "expected"),
    [
        ("80", "True", "False", "True"),
        ("80", "False", "True", "False"),
        ("", "True", "False", "False"),
        ("8,0", "True", "False", "False"),
        ("80", "True", "True", "True"),
    ],
)
def test_ports_of_other_namespaces_do_not_decide(foreign: str, own: str, other: str, expected: str) -> None:
    """Service rule 34."""
    web = service(foreign)
    seen = Seen(web, exposure_of(web, 8087), Results(), agents=(agent(1, own), agent(2, other)))
    accepted, assigned = ACCEPTED.true("Accepted", "x"), ASSIGNED.true("AddressAssigned", "x")
    assert reachable_as(seen, accepted, assigned, INGRESS).status == expected
