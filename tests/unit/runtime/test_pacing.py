"""Input of peers takes its share of the event loop's time, not more (docs/security.md, "The edge")."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import pytest

from seamark_runtime.pacing import BURST, EARNED, SLICE, Bytes, InputAccount, PacedInput
from tests import virtual_time

PIECE = SLICE / 4


def on_a_loop(case: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    @wraps(case)
    def run() -> None:
        virtual_time.run(case())

    return run


class Work:
    """A clock that only moves while pieces are handled, and a connection on it."""

    def __init__(self, account: InputAccount, clock: list[float], cost: float = PIECE) -> None:
        self.paced = PacedInput(account, self.handle, self.resume)
        self.paced.connected(self)
        self.reading = True
        self.handled = b""
        self.clock = clock
        self._cost = cost
        self._rest = b""

    def handle(self, data: Bytes, enough: Callable[[], bool]) -> bool:
        rest = self._rest + bytes(data)
        while rest:
            self.clock[0] += self._cost
            self.handled, rest = self.handled + rest[:1], rest[1:]
            if enough():
                break
        self._rest = rest
        return not rest

    def resume(self) -> None:
        self.reading = True

    def pause_reading(self) -> None:
        self.reading = False

    def is_closing(self) -> bool:
        return False


def paced(share: float = 1.0) -> tuple[InputAccount, list[float]]:
    clock = [0.0]
    return InputAccount(share, lambda: clock[0]), clock


@on_a_loop
async def test_a_flood_is_handled_in_slices_and_the_connection_is_not_read_meanwhile() -> None:
    account, clock = paced()
    work = Work(account, clock)
    work.paced.received(b"0123456789")
    assert (work.handled, work.reading) == (b"0123", False)
    await asyncio.sleep(0)
    assert (work.handled, work.reading) == (b"01234567", False)
    await asyncio.sleep(0)
    assert (work.handled, work.reading) == (b"0123456789", True)


@on_a_loop
async def test_the_connections_of_one_account_share_its_slice_and_take_turns() -> None:
    account, clock = paced()
    first, second = Work(account, clock), Work(account, clock)
    first.paced.received(b"a" * 12)
    second.paced.received(b"b" * 12)
    assert (len(first.handled), len(second.handled)) == (4, 0)
    await asyncio.sleep(0)
    assert (len(first.handled), len(second.handled)) == (8, 0)
    await asyncio.sleep(0)
    assert (len(first.handled), len(second.handled)) == (8, 4)


@on_a_loop
async def test_what_arrives_while_a_connection_waits_is_handled_behind_what_came_before() -> None:
    account, clock = paced()
    work = Work(account, clock)
    work.paced.received(b"01234567")
    work.paced.received(b"89")
    for _ in range(4):
        await asyncio.sleep(0)
    assert (work.handled, work.reading) == (b"0123456789", True)


@on_a_loop
async def test_input_that_costs_more_than_its_size_is_held_to_the_share() -> None:
    account, clock = paced(share=0.1)
    work = Work(account, clock)
    work.paced.received(b"x" * 1000)
    for _ in range(100):
        await asyncio.sleep(0)
    assert BURST <= len(work.handled) * PIECE <= BURST + 2 * SLICE  # then it waits for time to pass
    assert not work.reading


@on_a_loop
async def test_bulk_data_is_not_held_to_the_share() -> None:
    account, clock = paced(share=0.1)
    block = bytes(1_000_000)
    work = PacedInput(account, lambda data, _: bool(_tick(clock, len(data) * EARNED / 2)), lambda: None)
    for _ in range(20):
        work.received(block)
        await asyncio.sleep(0)
    assert clock[0] == pytest.approx(20 * len(block) * EARNED / 2)


@on_a_loop
async def test_time_that_went_into_reading_counts() -> None:
    account, clock = paced()
    work = Work(account, clock, cost=0.0)
    work.paced.received(b"a")
    clock[0] += SLICE  # the transport decrypts what comes next
    work.paced.received(b"b")
    assert (work.handled, work.reading) == (b"a", False)
    await asyncio.sleep(0)
    assert (work.handled, work.reading) == (b"ab", True)


@on_a_loop
async def test_a_connection_that_is_lost_handles_nothing_more() -> None:
    account, clock = paced()
    work = Work(account, clock)
    work.paced.received(b"0123456789")
    work.paced.close()
    for _ in range(3):
        await asyncio.sleep(0)
    assert work.handled == b"0123"


def _tick(clock: list[float], seconds: float) -> float:
    clock[0] += seconds
    return seconds
