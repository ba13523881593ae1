"""The limit that the recurring calls of a family share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import Any

from seamark_runtime.api.meta import Key
from seamark_runtime.callrates import Rate
from seamark_runtime.calls import Call, Calls
from seamark_runtime.errors import Refused
from seamark_runtime.request import Request
from seamark_runtime.source import Fresh
from tests.unit.runtime.test_calls import Outside, scenario
from tests.virtual_time import elapsed

RATE = Rate("probes", 2.0)


def probe(number: int, *, every: float = 5.0, rate: Rate | None = RATE, **more: Any) -> Call[str]:
    return Call(f"t{number}", f"probe {number}", every=every, shelf_life=3 * every, rate=rate, **more)


def request(number: int) -> Request:
    return Request("lamps", Key("ns", f"l{number}"))


def wanted(calls: Calls, *numbers: int) -> None:
    for number in numbers:
        calls.want(request(number), "u", [probe(number)])


def moments_of(outside: Outside, number: int) -> list[float]:
    return [round(moment, 3) for moment, action in outside.arrived if action == f"probe {number}"]


def play(test: Callable[[Calls], Coroutine[Any, Any, None]], took: float = 0.0) -> Outside:
    outside = Outside(took=took)
    scenario(outside, test)
    return outside


def test_calls_that_fit_keep_their_interval_and_are_spread() -> None:
    async def test(calls: Calls) -> None:
        wanted(calls, 0, 1, 2)
        await asyncio.sleep(14)
        known = calls.results(request(0), "u").to(probe(0))
        assert isinstance(known, Fresh)
        assert known.expires == 10 + 15

    outside = play(test)
    assert moments_of(outside, 0) == [0, 5, 10]
    assert moments_of(outside, 1) == [0, 5.5, 10.5]
    assert moments_of(outside, 2) == [0, 6, 11]


def test_with_more_calls_interval_and_shelf_life_stretch_by_the_same_factor() -> None:
    async def test(calls: Calls) -> None:
        wanted(calls, *range(40))  # 8 a second at 5 s, where 2 are allowed
        await asyncio.sleep(100)
        known = [calls.results(request(number), "u").to(probe(number)) for number in range(40)]
        assert all(isinstance(answer, Fresh) for answer in known)
        record = calls.records(request(0))[0]
        assert record.age + record.keeps == 15 * 4

    outside = play(test)
    assert moments_of(outside, 7) == [0, 23.5, 43.5, 63.5, 83.5]
    repeated = [moment for moment in outside.moments if moment > 0]
    gaps = [later - earlier for earlier, later in pairwise(repeated)]
    assert min(gaps) > 0.499, "never more than two a second"


def test_the_evidence_of_a_thousand_targets_never_goes_stale_while_all_answer() -> None:
    stale: list[float] = []

    async def test(calls: Calls) -> None:
        wanted(calls, *range(1000))
        while elapsed() < 3000:
            await asyncio.sleep(7)
            known = [calls.results(request(number), "u").to(probe(number)) for number in range(1000)]
            stale.extend(elapsed() for answer in known if not isinstance(answer, Fresh))

    outside = play(test, took=1.0)
    assert not stale
    repeated = sum(1 for moment in outside.moments if moment > 1)
    assert repeated <= 3000 * RATE.per_second


def test_the_pauses_after_failures_stretch_too() -> None:
    async def alone(calls: Calls) -> None:
        wanted(calls, 0)
        await asyncio.sleep(3.6)

    async def among_others(calls: Calls) -> None:
        wanted(calls, *range(40))
        await asyncio.sleep(14.2)

    for test, expected in ((alone, [0, 0.5, 1.5, 3.5]), (among_others, [0, 2, 6, 14])):
        outside = Outside(took=0, answers=[Refused("no")] * 1000)
        scenario(outside, test)
        assert moments_of(outside, 0) == expected


def test_when_most_targets_are_gone_the_others_are_called_at_their_usual_interval_again() -> None:
    async def test(calls: Calls) -> None:
        wanted(calls, *range(400))  # 40 times as many as fit
        await asyncio.sleep(1)
        for number in range(2, 400):
            calls.forget(request(number))
        await asyncio.sleep(30)

    outside = play(test)
    assert len(moments_of(outside, 0)) >= 6
    assert max(moments_of(outside, 0)[1], moments_of(outside, 1)[1]) <= 1 + 2 * 5


def test_families_do_not_slow_each_other_down_and_without_a_rate_nothing_stretches() -> None:
    async def test(calls: Calls) -> None:
        wanted(calls, *range(100, 200))
        calls.want(request(0), "u", [probe(0, rate=Rate("others", 2.0))])
        calls.want(request(1), "u", [probe(1, rate=None)])
        await asyncio.sleep(16)

    outside = play(test)
    assert moments_of(outside, 0) == moments_of(outside, 1) == [0, 5, 10, 15]


def test_a_call_that_comes_back_again_and_again_does_not_push_the_others_away() -> None:
    async def test(calls: Calls) -> None:
        wanted(calls, 0)
        for _ in range(200):
            wanted(calls, 1)
            await asyncio.sleep(0.1)
            calls.forget(request(1))

    outside = play(test)
    assert all(later - earlier <= 10 for earlier, later in pairwise(moments_of(outside, 0)))
    assert len(moments_of(outside, 0)) >= 3


def test_the_same_objects_give_the_same_schedule() -> None:
    async def test(calls: Calls) -> None:
        wanted(calls, *range(25))
        await asyncio.sleep(10)
        calls.forget(request(3))
        await asyncio.sleep(60)

    assert play(test).arrived == play(test).arrived
