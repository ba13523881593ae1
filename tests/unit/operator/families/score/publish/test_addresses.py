"""Load balancers and Ingresses are published with their addresses (docs/spec/score/runtime.md, rules 6 and 10)."""

from __future__ import annotations

import msgspec
import pytest

from seamark.families.score.workloadexposure.reconcile import judge
from seamark_runtime.api.core import Service
from seamark_runtime.api.networking import Ingress
from tests.unit.operator.families.score.publish.given import (
    LOCAL,
    NOTHING,
    reasons,
    seen,
    urls,
    wire,
)


def balancer(*ingress: dict[str, str]) -> Service:
    raw = {
        "metadata": {"name": "public", "namespace": "default"},
        "spec": {"type": "LoadBalancer", "ports": [{"name": "web", "port": 8080}]},
        "status": {"loadBalancer": {"ingress": list(ingress)}},
    }
    return msgspec.convert(raw, Service)


@pytest.mark.parametrize(
    ("address", "url", "scope"),
    [
        ({"ip": "8.8.8.8"}, "http://8.8.8.8:8080", "Public"),
        ({"ip": "10.1.2.3"}, "http://10.1.2.3:8080", "VPC"),
        ({"ip": "2606:4700::1"}, "http://[2606:4700::1]:8080", "Public"),
        ({"hostname": "lb.example.net"}, "http://lb.example.net:8080", "Public"),
    ],
)
def test_a_load_balancer_is_published_with_its_address(address: dict[str, str], url: str, scope: str) -> None:
    status = judge(seen(services=(balancer(address),)), NOTHING)
    assert wire(status.exposures)[0] == {"url": url, "priority": 50, "scope": scope, "schemeHint": "HTTP"}
    assert reasons(status)["LBPending"] == "False Addressed"


def test_a_load_balancer_without_an_address_is_pending() -> None:
    status = judge(seen(services=(balancer(),)), NOTHING)
    assert urls(status) == [LOCAL]
    assert reasons(status)["LBPending"] == "True NoAddress"
    assert reasons(status)["Ready"] == "False LBPending"


def ingress(*addresses: dict[str, str], host: str = "b.example.com", tls: bool = False) -> Ingress:
    path = {"path": "/api", "backend": {"service": {"name": "app"}}}
    other = {"path": "/", "backend": {"service": {"name": "other"}}}
    raw = {
        "metadata": {"name": "front", "namespace": "default"},
        "spec": {
            "rules": [{"host": host, "http": {"paths": [other, path]}}],
            **({"tls": [{"hosts": [host]}]} if tls else {}),
        },
        "status": {"loadBalancer": {"ingress": list(addresses)}},
    }
    return msgspec.convert(raw, Ingress)


@pytest.mark.parametrize(
    ("ingress", "url"),
    [
        (ingress({"ip": "8.8.8.8"}), "http://b.example.com/api"),
        (ingress({"ip": "8.8.8.8"}, tls=True), "https://b.example.com/api"),
        (ingress({"ip": "8.8.8.8"}, host=""), "http://8.8.8.8/api"),
    ],
)
def test_an_ingress_that_has_an_address_is_published(ingress: Ingress, url: str) -> None:
    status = judge(seen(ingresses=(ingress,)), NOTHING)
    assert urls(status) == [url, LOCAL]
    assert reasons(status)["IngressPending"] == "False Served"


def test_an_ingress_without_an_address_is_pending() -> None:
    status = judge(seen(ingresses=(ingress(),)), NOTHING)
    assert urls(status) == [LOCAL]
    assert reasons(status)["IngressPending"] == "True IngressNotServed"
