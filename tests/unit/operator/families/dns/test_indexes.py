"""What is kept of specs that were parsed: never anything but what parsing them again would give."""

from __future__ import annotations

import msgspec
import pytest

from seamark.api.dns import DNSEndpoint
from seamark.api.dnssources import NamedHTTPRoute
from seamark.families.dns.model import indexes
from seamark.families.dns.model.desired import desired_records
from seamark.families.dns.model.indexes import Indexes, SpecReader
from seamark.families.dns.sources.kinds import SOURCES
from tests.unit.operator.families.dns.zones import rules


def endpoint(name: str, target: str) -> DNSEndpoint:
    record = {"dnsName": "www.example.org", "recordType": "A", "targets": [target]}
    return msgspec.convert(
        {"metadata": {"name": name, "namespace": "ns"}, "spec": {"endpoints": [record]}}, DNSEndpoint
    )


def test_a_reader_gives_the_same_whether_it_keeps_a_spec_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexes, "MOST_READ", 2)
    reader = SpecReader(rules())
    for name in ("a", "b", "c"):  # the third is one too many: all are forgotten
        for target in ("192.0.2.1", "192.0.2.2", "192.0.2.1"):
            obj = endpoint(name, target)
            expected = desired_records(obj.spec.endpoints, rules())
            assert reader.desired(obj) == reader.keep(obj) == reader.desired(obj) == expected


def test_reading_without_keeping_keeps_nothing() -> None:
    reader, obj = SpecReader(rules()), endpoint("a", "192.0.2.1")
    assert reader.desired(obj) is not reader.desired(obj)
    assert reader.keep(obj) is reader.desired(obj)
    reader.forget(obj.key)
    assert reader.desired(obj) is not reader.desired(obj)


def route(*hostnames: str) -> NamedHTTPRoute:
    raw = {"metadata": {"name": "r", "namespace": "ns"}, "spec": {"hostnames": list(hostnames)}}
    return msgspec.convert(raw, NamedHTTPRoute)


def test_a_wildcard_of_a_route_may_be_served_in_the_zones_below_it() -> None:
    """Rule 72: a listener may narrow it to a name there."""
    under = rules(zones=("example.org", "deep.example.org", "example.net"), sources=frozenset(("httproute",)))
    found = Indexes(under, SpecReader(under))
    assert list(found.zones_of_other(SOURCES["httproute"], route("*.example.org"))) == [
        "example.org",
        "deep.example.org",
    ]
    assert list(found.zones_of_other(SOURCES["httproute"], route("www.example.org"))) == ["example.org"]
    assert list(found.zones_of_other(SOURCES["httproute"], route("*.example.com"))) == []
