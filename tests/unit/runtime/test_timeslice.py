from __future__ import annotations

import asyncio
import time

from seamark_runtime.timeslice import TimeSlice

SLICE = 0.005


def work(seconds: float) -> None:
    """Holds the loop, as a pass does that waits for nothing."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def test_a_timer_gets_its_turn_between_workers_who_never_wait() -> None:
    async def program() -> tuple[int, int]:
        slice_ = TimeSlice(SLICE)
        passes, passes_at_timer = 0, 0

        async def worker() -> None:
            nonlocal passes
            for _ in range(20):
                await slice_.turn()
                work(SLICE / 5)
                passes += 1

        def fired() -> None:
            nonlocal passes_at_timer
            passes_at_timer = passes

        asyncio.get_running_loop().call_later(SLICE, fired)
        await asyncio.gather(*(worker() for _ in range(5)))
        return passes, passes_at_timer

    passes, passes_at_timer = asyncio.run(program())
    assert passes == 100
    assert 0 < passes_at_timer < 20


def test_while_a_slice_lasts_nobody_waits() -> None:
    async def program() -> None:
        slice_ = TimeSlice(60)
        await slice_.turn()
        for _ in range(1000):
            turn = slice_.turn()
            try:
                turn.send(None)
            except StopIteration:
                continue
            raise AssertionError("it waited")

    asyncio.run(program())


def test_one_who_gives_up_waiting_takes_nobody_with_them() -> None:
    async def program() -> list[object]:
        slice_ = TimeSlice(0)
        await slice_.turn()
        first, second = (asyncio.ensure_future(slice_.turn()) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        return list(await asyncio.gather(first, second, return_exceptions=True))

    gave_up, waited = asyncio.run(program())
    assert isinstance(gave_up, asyncio.CancelledError)
    assert waited is None
