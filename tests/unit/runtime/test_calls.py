"""Remote calls: one at a time, never awaited, answered by facts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest

from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Call, Calls, Failed, Results
from seamark_runtime.client import WriteDeadline
from seamark_runtime.errors import Refused, Retry
from seamark_runtime.request import Request
from seamark_runtime.source import Fresh, NotYet, Stale
from tests.unit.runtime.scripted import TopOfTheRange
from tests.virtual_time import elapsed, run

ITEM, OTHER = Request("lamps", Key("ns", "a")), Request("lamps", Key("ns", "b"))


@dataclass
class Outside:
    """The remote side: what arrived there and when; what it answers, and how long it takes."""

    took: float = 1.0
    answers: list[Any] = field(default_factory=list)
    arrived: list[tuple[float, Any]] = field(default_factory=list)
    woken: list[tuple[float, Request]] = field(default_factory=list)

    async def perform(self, action: Any) -> Any:
        self.arrived.append((elapsed(), action))
        await asyncio.sleep(self.took)
        answer = self.answers.pop(0) if self.answers else f"{action} done"
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def wake(self, item: Request) -> None:
        self.woken.append((elapsed(), item))

    @property
    def moments(self) -> list[float]:
        return [moment for moment, _ in self.arrived]


def scenario(
    outside: Outside, test: Callable[[Calls], Coroutine[Any, Any, None]], write_deadline: WriteDeadline | None = None
) -> None:
    async def program() -> None:
        calls = Calls(TopOfTheRange(), outside.wake, lambda: asyncio.get_running_loop().time(), write_deadline)
        calls.register("lamps", outside.perform)
        await test(calls)
        await calls.stop()

    run(program())


def test_an_answer_wakes_the_key_and_belongs_to_that_very_call() -> None:
    outside, call = Outside(), Call[str]("t", "post")

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [call])
        assert calls.results(ITEM, "u1").to(call) == NotYet()
        await asyncio.sleep(2)
        results = calls.results(ITEM, "u1")
        assert results.to(call) == Fresh("post done")
        assert results.to(Call("t", "another action")) == NotYet()
        assert results.to(Call("another target", "post")) == NotYet()

    scenario(outside, test)
    assert outside.woken == [(1, ITEM)]


def test_wanting_the_same_call_again_changes_nothing() -> None:
    outside = Outside()

    async def test(calls: Calls) -> None:
        for _ in range(5):
            calls.want(ITEM, "u1", [Call("t", "post")])
            await asyncio.sleep(0.5)

    scenario(outside, test)
    assert outside.moments == [0]


def test_an_answer_to_an_object_of_the_same_name_that_is_gone_is_no_answer() -> None:
    outside, call = Outside(), Call[str]("t", "post")

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [call])
        await asyncio.sleep(2)
        assert calls.results(ITEM, "u2").to(call) == NotYet()
        calls.want(ITEM, "u2", [call])
        assert calls.results(ITEM, "u2").to(call) == NotYet()
        await asyncio.sleep(2)
        assert calls.results(ITEM, "u2").to(call) == Fresh("post done")

    scenario(outside, test)
    assert outside.moments == [0, 2]


def test_two_calls_to_one_target_never_overlap_whoever_wants_them() -> None:
    outside = Outside(took=3)

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [Call("t", "mine")])
        calls.want(OTHER, "u2", [Call("t", "yours"), Call("elsewhere", "free")])
        await asyncio.sleep(10)

    scenario(outside, test)
    assert outside.arrived == [(0, "mine"), (0, "free"), (3, "yours")]


def test_a_call_under_way_that_is_no_longer_wanted_is_not_cut_off_and_its_answer_is_dropped() -> None:
    outside, new = Outside(took=3), Call[str]("t", "new")

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [Call("t", "old")])
        await asyncio.sleep(1)
        calls.want(ITEM, "u1", [new])
        await asyncio.sleep(3)
        assert calls.results(ITEM, "u1").to(new) == NotYet()
        assert calls.results(ITEM, "u1").to(Call("t", "old")) == NotYet()
        await asyncio.sleep(3)
        assert calls.results(ITEM, "u1").to(new) == Fresh("new done")

    scenario(outside, test)
    assert outside.arrived == [(0, "old"), (3, "new")]
    assert outside.woken == [(6, ITEM)]


def test_a_call_that_waited_for_its_turn_and_is_no_longer_wanted_is_not_made() -> None:
    outside = Outside(took=3)

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [Call("t", "first")])
        calls.want(OTHER, "u2", [Call("t", "second")])
        await asyncio.sleep(1)
        calls.forget(OTHER)
        await asyncio.sleep(10)

    scenario(outside, test)
    assert outside.arrived == [(0, "first")]


def test_a_failure_is_retried_with_backoff_and_told_in_its_own_words() -> None:
    outside = Outside(took=0, answers=[Refused("full"), OSError(111, "Connection refused"), Refused("full")])
    call = Call[str]("t", "post")

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [call])
        await asyncio.sleep(0.1)
        failed = calls.results(ITEM, "u1").to(call)
        assert isinstance(failed, Failed)
        assert failed.message == "full"
        await asyncio.sleep(0.5)
        failed = calls.results(ITEM, "u1").to(call)
        assert isinstance(failed, Failed)
        assert failed.message == "Connection refused"
        await asyncio.sleep(20)
        assert calls.results(ITEM, "u1").to(call) == Fresh("post done")

    scenario(outside, test)
    assert outside.moments == [0, 0.5, 1.5, 3.5]


def test_the_longest_pause_is_that_of_the_call() -> None:
    outside, call = Outside(took=0, answers=[Refused("full")] * 9), Call[str]("t", "post", slowest=3)

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [call])
        await asyncio.sleep(10)

    scenario(outside, test)
    assert outside.moments == [0, 0.5, 1.5, 3.5, 6.5, 9.5]


@pytest.mark.parametrize(
    ("after", "moments"), [(0.1, [0, 0.5]), (7.0, [0, 7]), (1e9, [0, 60]), (float("inf"), [0, 60])]
)
def test_a_server_that_says_when_is_asked_then_and_within_a_minute_whatever_it_says(
    after: float, moments: list[float]
) -> None:
    outside, call = Outside(took=0, answers=[Retry("busy", after=after)]), Call[str]("t", "post", slowest=3)

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [call])
        await asyncio.sleep(61)

    scenario(outside, test)
    assert outside.moments == moments


def test_a_call_that_takes_too_long_has_failed() -> None:
    outside, call = Outside(took=60), Call[str]("t", "post", timeout=5)

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [call])
        await asyncio.sleep(5.1)
        assert calls.results(ITEM, "u1").to(call) == Failed("no answer within 5 s")

    scenario(outside, test)


def test_a_performer_that_crashes_has_failed_and_is_tried_again() -> None:
    outside, call = Outside(took=0, answers=[KeyError("a bug")]), Call[str]("t", "post")

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [call])
        await asyncio.sleep(0.1)
        failed = calls.results(ITEM, "u1").to(call)
        assert isinstance(failed, Failed)
        assert "a bug" not in failed.message  # a user can't do anything with it; the log has it
        await asyncio.sleep(5)
        assert calls.results(ITEM, "u1").to(call) == Fresh("post done")

    scenario(outside, test)


def test_what_is_verified_every_so_often_wakes_only_when_the_answer_changed() -> None:
    outside = Outside(took=1, answers=["up", "up", "down", "down", "up"])
    call = Call[str]("t", "probe", every=9)

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [call])
        await asyncio.sleep(45)

    scenario(outside, test)
    assert outside.moments == [0, 10, 20, 30, 40]
    assert outside.woken == [(1, ITEM), (21, ITEM), (41, ITEM)]


def test_an_answer_goes_stale_at_the_end_of_its_shelf_life() -> None:
    outside, call = Outside(took=1), Call[str]("t", "probe", shelf_life=10)

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [call])
        await asyncio.sleep(5)
        assert calls.results(ITEM, "u1").to(call) == Fresh("probe done", 11)
        assert calls.expiry(ITEM) == 11
        await asyncio.sleep(6)
        assert calls.results(ITEM, "u1").to(call) == Stale("probe done")
        assert calls.expiry(ITEM) == float("inf")

    scenario(outside, test)


def test_a_failure_does_not_go_stale_and_so_calls_nobody() -> None:
    outside = Outside(took=0, answers=[Refused("no")] * 50)

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [Call("t", "probe", shelf_life=10)])
        await asyncio.sleep(5)
        assert calls.expiry(ITEM) == float("inf")

    scenario(outside, test)


def test_the_same_failure_again_wakes_nobody_and_another_does() -> None:
    outside = Outside(took=0, answers=[Refused("no"), Refused("no"), Refused("still no")])

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [Call("t", "probe")])
        await asyncio.sleep(600)

    scenario(outside, test)
    moments = outside.moments
    assert len(moments) == 4
    assert [moment for moment, _ in outside.woken] == [moments[0], moments[2], moments[3]]


def test_it_is_known_since_when_an_answer_is_under_way() -> None:
    outside = Outside(took=3)

    async def test(calls: Calls) -> None:
        await asyncio.sleep(2)
        calls.want(ITEM, "u1", [Call("t", "a")])
        assert calls.waiting_since(ITEM, calls.results(ITEM, "u1")) == 2
        await asyncio.sleep(4)
        assert calls.waiting_since(ITEM, calls.results(ITEM, "u1")) is None
        assert calls.waiting_since(ITEM, Results()) == 2  # a pass that began before the answer came

    scenario(outside, test)


def test_a_forgotten_key_is_not_called_for_and_not_woken() -> None:
    outside = Outside(took=1)

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [Call("t", "probe", every=5)])
        await asyncio.sleep(2)
        calls.forget(ITEM)
        await asyncio.sleep(50)

    scenario(outside, test)
    assert outside.moments == [0]
    assert outside.woken == [(1, ITEM)]


def test_a_stop_ends_everything_and_a_new_start_begins_anew() -> None:
    outside = Outside(took=100)

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [Call("t", "post", timeout=1000)])
        await asyncio.sleep(1)
        await calls.stop()
        assert len(asyncio.all_tasks()) == 1
        outside.took = 1
        calls.want(ITEM, "u1", [Call("t", "post")])
        await asyncio.sleep(2)

    scenario(outside, test)
    assert outside.moments == [0, 1]
    assert outside.woken == [(2, ITEM)]


@pytest.mark.parametrize("failures", [1, 2, 3])
def test_backoff_begins_anew_after_a_success(failures: int) -> None:
    outside = Outside(took=0, answers=[*[Refused("x")] * failures, "fine", Refused("y")])

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [Call("t", "probe", every=100)])
        await asyncio.sleep(150)

    scenario(outside, test)
    gap = outside.moments[failures + 2] - outside.moments[failures + 1]
    assert gap == 0.5


def test_people_are_told_which_calls_recur() -> None:
    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [Call[str]("read", "read", every=30.0), Call[str]("update", "update")])
        assert [(one.target, one.recurring) for one in calls.records(ITEM)] == [("read", True), ("update", False)]
        await asyncio.sleep(2.0)
        assert [(one.target, one.recurring) for one in calls.records(ITEM)] == [("read", True), ("update", False)]

    scenario(Outside(), test)


def test_it_is_known_that_a_target_that_answered_has_been_asked_again_and_not_answered_since() -> None:
    outside, call = Outside(took=1), Call[str]("t", "probe", every=5, shelf_life=15)

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [call])
        await asyncio.sleep(2)
        assert calls.records(ITEM)[0].pending is None
        outside.took = 60
        await asyncio.sleep(7)
        record = calls.records(ITEM)[0]
        assert (record.age, record.keeps, record.pending) == (8, 7, 3)

    scenario(outside, test)
