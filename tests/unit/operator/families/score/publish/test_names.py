"""A route is published when DNS answers for its name (docs/spec/score/runtime.md, rule 8)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.api.dns import DNSEndpoint
from seamark.families.score.workloadexposure.names import lookup
from seamark.families.score.workloadexposure.reconcile import desire, judge
from seamark.families.score.workloadexposure.state import Lookup, Seen
from seamark_runtime.calls import Failed, Results
from tests.unit.operator.families.score.publish.given import (
    ACCEPTED,
    LOCAL,
    NOTHING,
    condition,
    exposure,
    gateway,
    reasons,
    route,
    routed,
    urls,
)


def with_answer(given: Seen, outcome: Any) -> Results:
    call = lookup(given, "a.example.com")
    return Results({call.target: Results.answer(call, outcome, 9.0)}, now=1.0)


def test_a_route_is_published_when_dns_answers_and_not_before() -> None:
    given = routed(route(ACCEPTED), gateway(), resolves=True)
    assert [call.action for call in desire(given).calls] == [Lookup("a.example.com")]
    assert urls(judge(given, NOTHING)) == [LOCAL]
    assert reasons(judge(given, NOTHING))["DNSNotReady"] == "Unknown NotAskedYet"
    assert reasons(judge(given, NOTHING))["Ready"] == "Unknown DNSNotReady"
    failed = Failed("a.example.com has no address in DNS")
    lost = routed(route(ACCEPTED), gateway(), resolves=True, results=with_answer(given, failed))
    assert urls(judge(lost, NOTHING)) == [LOCAL]
    assert reasons(judge(lost, NOTHING))["DNSNotReady"] == "True NoAnswer"
    found = routed(route(ACCEPTED), gateway(), resolves=True, results=with_answer(given, True))
    assert urls(judge(found, NOTHING)) == ["http://a.example.com", LOCAL]
    assert reasons(judge(found, NOTHING))["DNSNotReady"] == "False Answered"


@pytest.mark.parametrize("host", ["app.default.svc.cluster.local", "app.default.svc.cluster.local.", "app.default.svc"])
def test_a_name_inside_the_cluster_is_never_published_for_a_route(host: str) -> None:
    attached = route(ACCEPTED)
    inside = msgspec.structs.replace(attached, spec=msgspec.structs.replace(attached.spec, hostnames=(host,)))
    for standing in (exposure(LOCAL), exposure(f"http://{host}", LOCAL)):
        given = routed(inside, gateway(), resolves=True, exposure=standing)
        assert desire(given).calls == ()
        status = judge(given, NOTHING)
        assert urls(status) == [LOCAL]
        assert reasons(status)["DNSNotReady"] == "True NoAnswer"
        assert reasons(status)["Ready"] == "False DNSNotReady"


def test_a_name_that_is_lost_after_it_was_published_is_not_reachable_and_not_taken_back() -> None:
    standing = exposure("http://a.example.com", LOCAL)
    given = routed(route(ACCEPTED), gateway(), resolves=True, exposure=standing)
    again = judge(given, NOTHING)  # after a restart, before the first answer
    assert urls(again) == ["http://a.example.com", LOCAL]
    assert reasons(again)["DNSNotReady"] == "False Answered"
    failed = with_answer(given, Failed("gone"))
    lost = judge(routed(route(ACCEPTED), gateway(), resolves=True, exposure=standing, results=failed), NOTHING)
    assert next((entry.url, entry.reachable) for entry in lost.exposures or ()) == ("http://a.example.com", False)
    assert reasons(lost)["DNSNotReady"] == "True NoAnswer"
    assert reasons(lost)["Degraded"] == "False AsItShould"


def record(*conditions: dict[str, Any], generation: int = 1) -> DNSEndpoint:
    raw = {
        "metadata": {"name": "names", "generation": generation},
        "spec": {"endpoints": [{"dnsName": "a.example.com.", "recordType": "A", "targets": ["192.0.2.1"]}]},
        "status": {"observedGeneration": 1, "conditions": list(conditions)},
    }
    return msgspec.convert(raw, DNSEndpoint)


@pytest.mark.parametrize(
    ("dns_record", "expected", "message"),
    [
        (record(condition("Ready")), "False Answered", ""),
        (record(condition("Ready", "False")), "True RecordNotReady", "a.example.com: DNSEndpoint names: A"),
        (record(generation=2), "True RecordNotReady", "a.example.com: DNSEndpoint names was not looked at yet"),
    ],
)
def test_where_nothing_is_looked_up_the_status_of_the_dnsendpoint_counts(
    dns_record: DNSEndpoint, expected: str, message: str
) -> None:
    status = judge(routed(route(ACCEPTED), gateway(), records=(dns_record,)), NOTHING)
    assert reasons(status)["DNSNotReady"] == expected
    assert urls(status) == (["http://a.example.com", LOCAL] if not message else [LOCAL])
    assert status.conditions[-2].message.startswith(message)


def test_a_refused_record_counts_whatever_answers_to_the_name() -> None:
    refused = record(condition("Ready", "False", message="REFUSED"))
    given = routed(route(ACCEPTED), gateway(), resolves=True, records=(refused,))
    answered = with_answer(given, True)
    status = judge(routed(route(ACCEPTED), gateway(), resolves=True, records=(refused,), results=answered), NOTHING)
    assert reasons(status)["DNSNotReady"] == "True NoAnswer"


def test_a_name_is_looked_up_again_when_the_status_of_its_record_changes() -> None:
    lookups = [
        lookup(routed(route(ACCEPTED), gateway(), records=records), "a.example.com") for records in ((), (record(),))
    ]
    assert lookups[0].target == lookups[1].target
    bad = lookup(routed(route(ACCEPTED), gateway(), records=(record(condition("Ready", "False")),)), "a.example.com")
    assert bad.action != lookups[0].action
