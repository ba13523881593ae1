"""A route is published when DNS answers for its name (docs/spec/score/runtime.md, rule 8)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.api.dns import DNSEndpoint
from seamark.families.score.runtime.names import lookup
from seamark.families.score.runtime.publish import desire, judge
from seamark.families.score.runtime.state import Lookup, Published
from seamark_runtime.calls import Failed, Results
from tests.unit.families.score.publish.given import (
    ACCEPTED,
    LOCAL,
    NOTHING,
    condition,
    exposure,
    gateway,
    route,
    routed,
    said,
    urls,
)


def with_answer(asked: Published, outcome: Any) -> Results:
    call = lookup(asked, "a.example.com")
    return Results({call.target: Results.answer(call, outcome, 9.0)}, now=1.0)


def test_a_route_is_published_when_dns_answers_and_not_before() -> None:
    asked = routed(route(ACCEPTED), gateway(), resolves=True)
    assert [call.action for call in desire(asked).calls] == [Lookup("a.example.com")]
    assert urls(judge(asked, NOTHING)) == [LOCAL]
    assert said(judge(asked, NOTHING))["DNSNotReady"] == "Unknown NotAskedYet"
    assert said(judge(asked, NOTHING))["Ready"] == "Unknown DNSNotReady"
    failed = Failed("a.example.com has no address in DNS")
    lost = routed(route(ACCEPTED), gateway(), resolves=True, results=with_answer(asked, failed))
    assert urls(judge(lost, NOTHING)) == [LOCAL]
    assert said(judge(lost, NOTHING))["DNSNotReady"] == "True NoAnswer"
    found = routed(route(ACCEPTED), gateway(), resolves=True, results=with_answer(asked, True))
    assert urls(judge(found, NOTHING)) == ["http://a.example.com", LOCAL]
    assert said(judge(found, NOTHING))["DNSNotReady"] == "False Answered"


def test_a_name_that_is_lost_after_it_was_published_is_not_reachable_and_not_taken_back() -> None:
    standing = exposure("http://a.example.com", LOCAL)
    asked = routed(route(ACCEPTED), gateway(), resolves=True, exposure=standing)
    again = judge(asked, NOTHING)  # after a restart, before the first answer
    assert urls(again) == ["http://a.example.com", LOCAL]
    assert said(again)["DNSNotReady"] == "False Answered"
    failed = with_answer(asked, Failed("gone"))
    lost = judge(routed(route(ACCEPTED), gateway(), resolves=True, exposure=standing, results=failed), NOTHING)
    assert next((one.url, one.reachable) for one in lost.exposures or ()) == ("http://a.example.com", False)
    assert said(lost)["DNSNotReady"] == "True NoAnswer"
    assert said(lost)["Degraded"] == "False AsItShould"


def record(*conditions: dict[str, Any], generation: int = 1) -> DNSEndpoint:
    raw = {
        "metadata": {"name": "names", "generation": generation},
        "spec": {"endpoints": [{"dnsName": "a.example.com.", "recordType": "A", "targets": ["192.0.2.1"]}]},
        "status": {"observedGeneration": 1, "conditions": list(conditions)},
    }
    return msgspec.convert(raw, DNSEndpoint)


@pytest.mark.parametrize(
    ("one", "expected", "words"),
    [
        (record(condition("Ready")), "False Answered", ""),
        (record(condition("Ready", "False")), "True RecordNotReady", "a.example.com: DNSEndpoint names: A"),
        (record(generation=2), "True RecordNotReady", "a.example.com: DNSEndpoint names was not looked at yet"),
    ],
)
def test_where_nothing_is_looked_up_the_dnsendpoint_tells(one: DNSEndpoint, expected: str, words: str) -> None:
    status = judge(routed(route(ACCEPTED), gateway(), records=(one,)), NOTHING)
    assert said(status)["DNSNotReady"] == expected
    assert urls(status) == (["http://a.example.com", LOCAL] if not words else [LOCAL])
    assert status.conditions[-1].message.startswith(words)


def test_a_refused_record_counts_whatever_answers_to_the_name() -> None:
    refused = record(condition("Ready", "False", message="REFUSED"))
    asked = routed(route(ACCEPTED), gateway(), resolves=True, records=(refused,))
    answered = with_answer(asked, True)
    status = judge(routed(route(ACCEPTED), gateway(), resolves=True, records=(refused,), results=answered), NOTHING)
    assert said(status)["DNSNotReady"] == "True NoAnswer"


def test_a_name_is_looked_up_anew_when_its_record_says_something_else() -> None:
    asked = [lookup(routed(route(ACCEPTED), gateway(), records=one), "a.example.com") for one in ((), (record(),))]
    assert asked[0].target == asked[1].target
    bad = lookup(routed(route(ACCEPTED), gateway(), records=(record(condition("Ready", "False")),)), "a.example.com")
    assert bad.action != asked[0].action
