"""Remote calls and the write deadline: nothing is sent after it."""

from __future__ import annotations

import asyncio

from seamark_runtime import fencing
from seamark_runtime.calls import Call, Calls, Failed
from seamark_runtime.errors import Fenced
from seamark_runtime.source import NotYet
from tests.unit.runtime.scripted import TopOfTheRange
from tests.unit.runtime.test_calls import ITEM, Outside, scenario
from tests.virtual_time import elapsed, run


class RenewedLease:
    """A write deadline that moves on every five seconds, until its last renewal."""

    def __init__(self, last: float = float("inf")) -> None:
        self._last = last

    def remaining(self) -> float:
        return min(elapsed() // 5 * 5, self._last) + 7.3 - elapsed()


def test_whatever_is_left_of_the_lease_every_try_at_a_dead_remote_fails_with_the_same_message() -> None:
    outside, call = Outside(took=60), Call[str]("t", "post", timeout=10)

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [call])
        await asyncio.sleep(3600)
        assert calls.results(ITEM, "u1").to(call) == Failed("no answer within 10 s")

    scenario(outside, test, RenewedLease())
    assert len(outside.arrived) > 20
    assert len(outside.woken) == 1, "the same message is no news"


def test_a_call_that_is_under_way_ends_with_the_lease() -> None:
    outside, call = Outside(took=60), Call[str]("t", "post", timeout=30)

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [call])
        await asyncio.sleep(12.2)
        assert calls.results(ITEM, "u1").to(call) == NotYet()
        await asyncio.sleep(0.2)
        assert calls.results(ITEM, "u1").to(call) == Failed("not the leader any more")

    scenario(outside, test, RenewedLease(last=5))


def test_after_the_lease_was_lost_a_call_has_failed() -> None:
    outside, call = Outside(took=0, answers=[Fenced("no")]), Call[str]("t", "post")

    async def test(calls: Calls) -> None:
        calls.want(ITEM, "u1", [call])
        await asyncio.sleep(0.1)
        failed = calls.results(ITEM, "u1").to(call)
        assert isinstance(failed, Failed)
        assert failed.message == "not the leader any more"

    scenario(outside, test)


class SuspendedLease:
    """A write deadline of ten seconds by a clock that counts the time in suspension; the loop's does not."""

    def __init__(self) -> None:
        self.suspended = 0.0

    def remaining(self) -> float:
        return 10.0 - elapsed() - self.suspended


def test_a_call_sends_nothing_more_once_the_lease_is_lost_however_long_it_has_been_under_way() -> None:
    """The first effect of the call is due before the machine is suspended, and the second after it."""
    lease, sent, outside = SuspendedLease(), [], Outside()

    async def perform(_action: object) -> None:
        for effect in ("first", "second"):
            await asyncio.sleep(0.4)  # sooner than the next look at the lease
            fencing.ensure_leading(effect)
            sent.append(effect)
            lease.suspended = 60.0

    async def program() -> None:
        calls = Calls(TopOfTheRange(), outside.wake, elapsed, lease)
        calls.register("lamps", perform)
        calls.want(ITEM, "u1", [call := Call[str]("t", "post")])
        await asyncio.sleep(3)
        assert calls.results(ITEM, "u1").to(call) == Failed("not the leader any more")
        await calls.stop()

    run(program())
    assert sent == ["first"]


def test_a_call_that_waits_ends_soon_after_the_lease_was_lost_in_suspension() -> None:
    lease, outside = SuspendedLease(), Outside(took=60.0)
    ended: list[float] = []

    async def perform(action: object) -> None:
        lease.suspended = 60.0
        try:
            await outside.perform(action)
        finally:
            ended.append(elapsed())

    async def program() -> None:
        calls = Calls(TopOfTheRange(), outside.wake, elapsed, lease)
        calls.register("lamps", perform)
        calls.want(ITEM, "u1", [Call[str]("t", "post", timeout=100)])
        await asyncio.sleep(3)
        await calls.stop()

    run(program())
    assert ended == [1.0]
