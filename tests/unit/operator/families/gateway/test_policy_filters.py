"""Fields of TrafficPolicies that are filters: what can't be served is refused with its path."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark.api.kgateway import served
from seamark.families.gateway.rules.features.table import FEATURES
from seamark.families.gateway.rules.policyparts import parts_of
from seamark.families.gateway.rules.trafficpolicies import guards, plain
from seamark.families.gateway.values.limits import Unsupported
from seamark_edge.dataplane.envoyfilters.table import MODULES

Json = dict[str, Any]
LONG = "9" * 5_000

BAD: list[tuple[Json, str]] = [
    ({"csrf": {"percentageEnabled": 101}}, "csrf.percentageEnabled: must be from 0 to 100"),
    ({"csrf": {"percentageShadowed": -1}}, "csrf.percentageShadowed: must be from 0 to 100"),
    ({"csrf": {"percentageEnabled": 1, "percentageShadowed": 1}}, "csrf: percentageEnabled and percentageShadowed"),
    ({"csrf": {"additionalOrigins": [{}]}}, "csrf.additionalOrigins[0]: exactly one of"),
    ({"csrf": {"additionalOrigins": [{"exact": "a", "prefix": "b"}]}}, "csrf.additionalOrigins[0]: exactly one of"),
    ({"csrf": {"additionalOrigins": [{"prefix": ""}]}}, "csrf.additionalOrigins[0].prefix: must have"),
    ({"csrf": {"additionalOrigins": [{"exact": "a\n"}]}}, "csrf.additionalOrigins[0].exact: "),
    ({"csrf": {"additionalOrigins": [{"contains": LONG}]}}, "csrf.additionalOrigins[0].contains: must have"),
    ({"csrf": {"additionalOrigins": [{"safeRegex": "("}]}}, "csrf.additionalOrigins[0].safeRegex: the regular"),
    (
        {"csrf": {"additionalOrigins": [{"safeRegex": "a", "ignoreCase": True}]}},
        "csrf.additionalOrigins[0].ignoreCase",
    ),
    ({"csrf": {"additionalOrigins": [{"exact": "a"}] * 17}}, "csrf.additionalOrigins: 17 entries"),
    ({"csrf": {"percentage": 1}}, "The field csrf.percentage is not supported"),
    ({"buffer": {}}, "buffer.maxRequestSize is required"),
    ({"buffer": {"maxRequestSize": 0}}, "buffer.maxRequestSize: must be a whole number"),
    ({"buffer": {"maxRequestSize": "4Gi"}}, "buffer.maxRequestSize: must be a whole number"),
    ({"buffer": {"maxRequestSize": "100m"}}, "buffer.maxRequestSize: must be a whole number"),
    ({"buffer": {"maxRequestSize": "much"}}, "buffer.maxRequestSize: 'much' is no size"),
    ({"buffer": {"maxRequestSize": LONG}}, "buffer.maxRequestSize: "),
    ({"buffer": {"maxRequestSize": 2**63}}, "buffer.maxRequestSize: must be a whole number"),
    ({"buffer": {"maxRequestSize": 1, "disable": {}}}, "buffer.disable: no other field"),
    ({"faultInjection": {}}, "faultInjection: one of delay, abort and responseRateLimit"),
    ({"faultInjection": {"abort": {}}}, "faultInjection.abort: exactly one of"),
    ({"faultInjection": {"abort": {"httpStatus": 200, "grpcStatus": 0}}}, "faultInjection.abort: exactly one of"),
    ({"faultInjection": {"abort": {"httpStatus": 199}}}, "faultInjection.abort.httpStatus: must be from 200 to 599"),
    ({"faultInjection": {"abort": {"grpcStatus": 17}}}, "faultInjection.abort.grpcStatus: must be from 0 to 16"),
    ({"faultInjection": {"abort": {"grpcStatus": 1, "percentage": 101}}}, "faultInjection.abort.percentage"),
    ({"faultInjection": {"delay": {"fixedDelay": "0s"}}}, "faultInjection.delay.fixedDelay must be 1ms or more"),
    ({"faultInjection": {"delay": {"fixedDelay": "61m"}}}, "faultInjection.delay.fixedDelay must be 1h or less"),
    ({"faultInjection": {"delay": {"fixedDelay": "soon"}}}, "faultInjection.delay.fixedDelay: 'soon'"),
    ({"faultInjection": {"responseRateLimit": {"kbitsPerSecond": 0}}}, "responseRateLimit.kbitsPerSecond: must be"),
    (
        {"faultInjection": {"delay": {"fixedDelay": "1s"}, "maxActiveFaults": 2**32}},
        "faultInjection.maxActiveFaults: must be",
    ),
    (
        {"rateLimit": {"local": {"tokenBucket": {"maxTokens": 1, "fillInterval": "1s"}, "percentEnabled": 101}}},
        "rateLimit.local.percentEnabled: must be from 0 to 100",
    ),
    ({"rateLimit": {"local": {"percentEnforced": 1}}}, "rateLimit.local.tokenBucket is required"),
]


@pytest.mark.parametrize(("spec", "message"), BAD, ids=lambda each: str(each)[:60])
def test_a_bad_value_is_refused_with_its_path(spec: Json, message: str) -> None:
    with pytest.raises((msgspec.ValidationError, Unsupported)) as refused:
        parts_of(served(spec))
    found = plain(str(refused.value))
    assert message in found
    assert len(found) < 400
    assert found.isprintable()


@pytest.mark.parametrize(
    ("spec", "protecting"),
    [
        ({"csrf": {"percentageEnabled": 100}}, {"csrf"}),
        ({"csrf": {}}, {"csrf"}),
        ({"csrf": {"percentageEnabled": 0}}, set()),
        ({"buffer": {"maxRequestSize": 1}}, set()),
        ({"rateLimit": {"local": {}}}, set()),
    ],
)
def test_what_protects_is_known_by_its_field(spec: Json, protecting: set[str]) -> None:
    """Policies rule 2."""
    assert guards(spec) == protecting


def test_every_setting_has_a_filter_of_the_data_plane() -> None:
    """What a feature reads can be translated: its value is of a type that the data plane's table has."""
    made = {type(value) for spec in GOOD for value in parts_of(served(spec)).values()}
    assert made == set(MODULES)
    assert {field for spec in GOOD for field in spec} == {feature.field for feature in FEATURES}


GOOD: list[Json] = [
    {"csrf": {}},
    {"buffer": {"maxRequestSize": "1Ki"}},
    {"faultInjection": {"abort": {"httpStatus": 503}}},
]
