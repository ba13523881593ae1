"""The loop's time is shared fairly between owners: no owner waits behind all the work of another."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.fairshare import FairShare
from seamark_edge.edge.listeners import http_refusal
from tests.virtual_time import run

SLICE = 0.002


class Machine:
    """A share whose work takes as long as it says, and what was done in which order."""

    def __init__(self, most_waiting: int = 10_000) -> None:
        self.time = 0.0
        self.share = FairShare(SLICE, most_waiting, now=lambda: self.time)
        self.done: list[str] = []
        self.rounds: list[float] = []  # the time at which the loop looked at its sockets

    def work(self, owner: str, *pieces: float) -> Iterator[None]:
        for number, seconds in enumerate(pieces):
            self.time += seconds
            self.done.append(owner)
            if number + 1 < len(pieces):
                yield

    async def steps(self, owner: str, *pieces: float) -> str:
        for seconds in pieces:
            self.time += seconds
            self.done.append(owner)
            await asyncio.sleep(0)
        return owner

    async def watch(self) -> None:
        while True:
            self.rounds.append(self.time)
            await asyncio.sleep(0)

    @property
    def longest(self) -> float:
        """The longest that the loop did not look at its sockets."""
        return max(after - before for before, after in zip(self.rounds, self.rounds[1:], strict=False))

    def seconds(self, owner: str, piece: float, until: int) -> float:
        return self.done[:until].count(owner) * piece


def test_work_runs_at_once_while_nobody_waits() -> None:
    machine = Machine()

    async def case() -> None:
        assert machine.share.submit("a", machine.work("a", 0.0005)) is None
        assert machine.share.submit("b", machine.work("b", 0.0005)) is None
        assert machine.done == ["a", "b"]

    run(case())


def test_one_who_comes_late_is_next_however_much_of_another_waits() -> None:
    machine = Machine()

    async def case() -> None:
        for _ in range(500):
            machine.share.submit("many", machine.work("many", 0.002, 0.002, 0.002))
        await asyncio.sleep(0)
        before = len(machine.done)
        machine.share.submit("late", machine.work("late", 0.001))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert machine.done.index("late") - before <= 2
        assert machine.share.waiting("many") > 490

    run(case())


def test_the_loop_looks_at_its_sockets_after_each_slice() -> None:
    machine = Machine()

    async def case() -> None:
        watching = asyncio.create_task(machine.watch())
        for owner in ("a", "b", "c"):
            for _ in range(300):
                machine.share.submit(owner, machine.work(owner, 0.001, 0.001))
        while machine.share.waiting("a") + machine.share.waiting("b") + machine.share.waiting("c"):
            await asyncio.sleep(0)
        watching.cancel()

    run(case())
    assert len(machine.done) == 1800
    assert machine.longest <= SLICE + 0.001


def test_owners_get_equal_time_and_not_equal_numbers() -> None:
    machine = Machine()

    async def case() -> None:
        for _ in range(400):
            machine.share.submit("costly", machine.work("costly", 0.008))
            machine.share.submit("cheap", machine.work("cheap", 0.001))
        while machine.share.waiting("cheap"):
            await asyncio.sleep(0)
        until = len(machine.done)
        costly, cheap = machine.seconds("costly", 0.008, until), machine.seconds("cheap", 0.001, until)
        assert abs(costly - cheap) <= 0.02, (costly, cheap)

    run(case())


def test_what_waits_is_bounded_for_each_owner() -> None:
    machine = Machine(most_waiting=10)

    async def case() -> None:
        machine.share.submit("a", machine.work("a", 1.0))
        for _ in range(10):
            assert machine.share.submit("a", machine.work("a", 0.001)) is not None
        with pytest.raises(Refusal) as refusal:
            machine.share.submit("a", machine.work("a", 0.001))
        assert http_refusal(refusal.value).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
        assert machine.share.submit("b", machine.work("b", 0.001)) is not None

    run(case())


def test_work_that_was_cancelled_or_fails_holds_nobody_up() -> None:
    machine = Machine()

    def failing() -> Iterator[None]:
        yield
        raise ValueError

    async def case() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        machine.share.submit("a", machine.work("a", 0.003))
        turns = [machine.share.submit("a", machine.work("cancelled", 0.001)) for _ in range(3)]
        machine.share.submit("a", failing())
        machine.share.submit("a", machine.work("last", 0.001))
        for turn in turns:
            assert turn is not None
            turn.cancel()
        for _ in range(10):
            await asyncio.sleep(0)
        assert machine.done == ["a", "last"]

    run(case())


def test_what_has_begun_is_finished_before_the_next_of_its_owner() -> None:
    machine = Machine()

    async def case() -> None:
        machine.share.submit("x", machine.work("x", 0.003))
        for name in ("first", "second"):
            machine.share.submit("owner", machine.work(name, 0.003, 0.003, 0.003))
        for _ in range(10):
            await asyncio.sleep(0)
        assert machine.done == ["x", *["first"] * 3, *["second"] * 3]

    run(case())


def test_the_steps_of_coroutines_take_turns_with_those_of_others() -> None:
    machine = Machine()

    async def case() -> None:
        watching = asyncio.create_task(machine.watch())
        many = [paced(machine, "many", *[0.001] * 5) for _ in range(100)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        before = len(machine.done)
        assert await paced(machine, "late", 0.001, 0.001) == "late"
        assert len(machine.done) - before <= 40  # of 500: three steps of its own, a few of the others between them
        assert await asyncio.gather(*many) == ["many"] * 100
        watching.cancel()

    run(case())
    assert machine.longest <= 0.010  # until it is known how long steps take; then a slice


def test_a_coroutine_that_is_cancelled_while_it_waits_is_told_at_once() -> None:
    machine = Machine()
    told: list[str] = []

    async def work() -> None:
        machine.time += 100.0  # all others come first
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            told.append("running")
            raise

    async def case() -> None:
        running = asyncio.create_task(awaited(machine, "b", work()))
        waiting = paced(machine, "b", 0.001)
        await asyncio.sleep(0)
        machine.share.submit("a", machine.work("a", 1.0, 1.0, 1.0))
        for task in (running, waiting):
            task.cancel()
        await asyncio.gather(running, waiting, return_exceptions=True)
        assert told == ["running"]
        assert "b" not in machine.done
        assert await paced(machine, "b", 0.001) == "b"

    run(case())


def test_an_error_of_a_coroutine_is_its_callers() -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("x")

    async def case() -> None:
        with pytest.raises(ValueError, match="x"):
            await Machine().share.paced("a", fail())

    run(case())


async def awaited(machine: Machine, owner: str, work: Coroutine[Any, Any, None]) -> None:
    await machine.share.paced(owner, work)


def paced(machine: Machine, owner: str, *pieces: float) -> asyncio.Task[str]:
    async def case() -> str:
        return await machine.share.paced(owner, machine.steps(owner, *pieces))

    return asyncio.get_running_loop().create_task(case())
