"""Selectors and filters of callers: limited together when they are set, and while they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.expressions import LIST_BUDGET, Selectors, check_selectors, filters
from seamark_edge.wire.expressions import SELECTOR
from seamark_runtime.cel import Meter

LOOP = "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, a + b + c > 0)))"
Check = Callable[[Iterable[str], str], Any]


@pytest.mark.parametrize("check", [check_selectors, filters])
@pytest.mark.parametrize(
    ("sources", "number", "limit"),
    [
        (["true"] * 101, 100, "more than 100 expressions"),
        ([f"'{'x' * 4000}' == ''"] * 3, 2, "more than 8192 characters together"),
        ([LOOP] * 2, 1, "cost more than 10000 steps together"),
        (["true", "math.abs(1) == 1"], 1, "the function 'math.abs' is not known here"),
        (["true", "conn.client_ip == ''"], 1, "the name 'conn' is not known here"),
        (["'text'"], 0, "neither true nor false"),
    ],
)
def test_expressions_are_refused_with_their_place_and_the_limit(
    check: Check, sources: list[str], number: int, limit: str
) -> None:
    with pytest.raises(Refusal) as caught:
        check(sources, "binding.endpoint_selectors")
    assert caught.value.status == 400
    assert caught.value.message.startswith(f"binding.endpoint_selectors[{number}]: ")
    assert limit in caught.value.message


def test_selectors_choose_by_any_and_filters_by_all() -> None:
    endpoint = {"id": "ep_1", "metadata": "team-a"}
    assert Selectors(["ep.missing == 1", "ep.metadata == 'team-a'"]).choose(endpoint)
    assert not Selectors(["ep.metadata == 'team-b'"]).choose(endpoint)
    both = filters(["obj.id == 'ep_1'", "obj.metadata == 'team-a'"], "filter")
    assert both.choose(endpoint)
    assert not both.choose({"id": "ep_1", "metadata": "team-b"})
    with pytest.raises(Refusal, match="can't be evaluated"):
        both.choose({"id": "ep_1"})


def test_the_filters_of_a_request_share_a_budget_over_all_objects_of_the_list() -> None:
    costly, cheap = filters([LOOP], "filter"), filters(["obj.id == 'x'"], "filter")
    for _ in range(LIST_BUDGET // 10_000):
        costly.choose({"id": "x"})
    with pytest.raises(Refusal, match="it takes more than 500,000 steps for all objects of the list") as refusal:
        all(costly.choose({"id": "x"}) for _ in range(LIST_BUDGET // 1_000))
    assert refusal.value.status == 400
    with pytest.raises(Refusal, match="500,000"):  # the budget is not renewed
        costly.choose({"id": "x"})
    assert all(cheap.choose({"id": "x"}) for _ in range(10_000))


def test_a_selector_that_an_earlier_version_accepted_chooses_nothing_and_stops_no_other() -> None:
    assert not Selectors(["math.startsWith('x')"]).choose({"id": "x"})
    assert Selectors(["math.startsWith('x')", "ep.id == 'x'"]).choose({"id": "x"})


def test_the_selectors_of_a_place_share_a_budget_over_its_endpoints() -> None:
    selectors, meter = Selectors(["ep.labels.exists(a, a == 'x')"]), Meter(SELECTOR.limits, 1000)
    endpoints = [{"labels": ["a"] * 64} for _ in range(100)]
    assert not any(selectors.choose(endpoint, meter) for endpoint in endpoints)
    assert meter.spent > 1000
    assert not selectors.choose({"labels": ["x"]}, meter)
    assert selectors.choose({"labels": ["x"]})
