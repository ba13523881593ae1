"""The cluster's names, as a resolver queries them."""

from __future__ import annotations

from typing import Any

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import msgspec
import pytest

from seamark_cluster.dns.answers import Answers
from seamark_cluster.dns.names import PODS_BY_IP, SERVICES_BY_NAMESPACE, Names
from seamark_cluster.routing.router import BY_SERVICE
from seamark_runtime.api.core import Pod, Service
from seamark_runtime.api.discovery import EndpointSlice
from seamark_runtime.cache import Cache
from seamark_runtime.dnsserver import DnsServer


def meta(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "namespace": "shop", **more}


def server(endpoints: int = 2) -> DnsServer:
    services: Cache[Service] = Cache((SERVICES_BY_NAMESPACE,))
    slices: Cache[EndpointSlice] = Cache((BY_SERVICE,))
    pods: Cache[Pod] = Cache((PODS_BY_IP,))
    ports = [{"name": "http", "port": 80}]
    for name, spec in {
        "web": {"clusterIP": "10.96.0.5", "clusterIPs": ["10.96.0.5"], "ports": ports},
        "db": {"clusterIP": "None", "clusterIPs": ["None"], "ports": ports},
        "empty": {"clusterIP": "None", "clusterIPs": ["None"], "ports": ports},
        "out": {"type": "ExternalName", "externalName": "api.example.com"},
        "broken": {"type": "ExternalName", "externalName": f"{'x' * 64}.example"},
        "inside": {"type": "ExternalName", "externalName": "web.shop.svc.cluster.local"},
    }.items():
        services.put(msgspec.convert({"metadata": meta(name), "spec": spec}, Service))
    found = [{"addresses": [f"10.244.0.{number + 10}"], "conditions": {"ready": True}} for number in range(endpoints)]
    found.append({"addresses": ["10.244.9.9"], "conditions": {"ready": False}})
    found[0]["hostname"] = "db-0"
    document = {
        "metadata": meta("db-x", labels={"kubernetes.io/service-name": "db"}),
        "addressType": "IPv4",
        "endpoints": found,
        "ports": [{"name": "http", "port": 5432}],
    }
    slices.put(msgspec.convert(document, EndpointSlice))
    pods.put(msgspec.convert({"metadata": meta("p"), "status": {"podIP": "10.244.0.10", "phase": "Running"}}, Pod))
    return DnsServer(Answers(Names("cluster.local", services, slices, pods)).fill)


def ask(name: str, kind: str = "A", **changed: Any) -> dns.message.Message:
    wire = server(**changed).reply(dns.message.make_query(name, kind).to_wire(), stream=False)
    assert wire is not None
    return dns.message.from_wire(wire)


def texts(response: dns.message.Message) -> list[str]:
    return [text for rrset in response.answer for text in sorted(str(item) for item in rrset)]


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("web.shop.svc.cluster.local", "A", ["10.96.0.5"]),
        ("WEB.Shop.SVC.Cluster.Local", "A", ["10.96.0.5"]),
        ("db.shop.svc.cluster.local", "A", ["10.244.0.10", "10.244.0.11"]),
        ("db-0.db.shop.svc.cluster.local", "A", ["10.244.0.10"]),
        ("10-244-0-11.db.shop.svc.cluster.local", "A", ["10.244.0.11"]),
        ("_http._tcp.web.shop.svc.cluster.local", "SRV", ["0 100 80 web.shop.svc.cluster.local."]),
        (
            "_http._tcp.db.shop.svc.cluster.local",
            "SRV",
            ["0 100 5432 10-244-0-11.db.shop.svc.cluster.local.", "0 100 5432 db-0.db.shop.svc.cluster.local."],
        ),
        ("out.shop.svc.cluster.local", "A", ["api.example.com."]),
        ("out.shop.svc.cluster.local", "CNAME", ["api.example.com."]),
        ("inside.shop.svc.cluster.local", "A", ["web.shop.svc.cluster.local.", "10.96.0.5"]),
        ("10-244-0-10.shop.pod.cluster.local", "A", ["10.244.0.10"]),
        ("dns-version.cluster.local", "TXT", ['"1.1.0"']),
    ],
)
def test_a_name_of_the_cluster_is_answered_with_authority(name: str, kind: str, expected: list[str]) -> None:
    response = ask(name, kind)
    assert response.rcode() == dns.rcode.NOERROR
    assert response.flags & dns.flags.AA
    assert texts(response) == expected


@pytest.mark.parametrize(
    "name",
    [
        "none.shop.svc.cluster.local",
        "web.other.svc.cluster.local",
        "other.svc.cluster.local",
        "x.web.shop.svc.cluster.local",
        "_http._udp.web.shop.svc.cluster.local",
        "_ftp._tcp.web.shop.svc.cluster.local",
        "10-244-9-9.db.shop.svc.cluster.local",
        "10-244-0-99.shop.pod.cluster.local",
        "1-2-3.shop.pod.cluster.local",
        "x.cluster.local",
    ],
)
def test_what_does_not_exist_is_nxdomain_with_the_zones_soa(name: str) -> None:
    response = ask(name)
    assert response.rcode() == dns.rcode.NXDOMAIN
    assert response.authority[0].rdtype == dns.rdatatype.SOA


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("web.shop.svc.cluster.local", "AAAA"),
        ("web.shop.svc.cluster.local", "MX"),
        ("empty.shop.svc.cluster.local", "A"),
        ("shop.svc.cluster.local", "A"),
        ("svc.cluster.local", "A"),
        ("cluster.local", "A"),
    ],
)
def test_a_name_without_records_of_that_type_is_an_empty_answer(name: str, kind: str) -> None:
    response = ask(name, kind)
    assert (response.rcode(), response.answer) == (dns.rcode.NOERROR, [])
    assert response.authority[0].rdtype == dns.rdatatype.SOA


@pytest.mark.parametrize("name", ["example.com", "cluster.local.example.com", "5.0.96.10.in-addr.arpa", "local", "."])
def test_any_other_name_is_refused(name: str) -> None:
    response = ask(name)
    assert response.rcode() == dns.rcode.REFUSED
    assert not response.answer


def test_an_answer_that_is_too_long_for_a_datagram_is_cut_and_whole_over_a_stream() -> None:
    many = server(endpoints=200)
    query = dns.message.make_query("db.shop.svc.cluster.local", "A").to_wire()
    short, whole = many.reply(query, stream=False), many.reply(query, stream=True)
    assert short is not None
    assert whole is not None
    assert dns.message.from_wire(short).flags & dns.flags.TC
    assert len(texts(dns.message.from_wire(whole))) == 200


def test_a_name_that_is_none_fails_alone() -> None:
    assert ask("broken.shop.svc.cluster.local").rcode() == dns.rcode.SERVFAIL


def test_an_invalid_message_gets_formerr_and_a_response_gets_nothing() -> None:
    query = dns.message.make_query("web.shop.svc.cluster.local", "A")
    wire = query.to_wire()
    told = server().reply(wire[:20], stream=False)
    assert told is not None
    assert (told[:2], told[3] & 15) == (wire[:2], dns.rcode.FORMERR)
    assert server().reply(b"x", stream=False) is None
    assert server().reply(dns.message.make_response(query).to_wire(), stream=False) is None
