"""What is kept of specs that were parsed: never anything but what parsing them again would give."""

from __future__ import annotations

import msgspec
import pytest

from seamark.api.dns import DNSEndpoint
from seamark.families.dns.model import indexes
from seamark.families.dns.model.desired import desired_records
from seamark.families.dns.model.indexes import SpecReader
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
