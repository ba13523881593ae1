"""The order of requests to an edge: one namespace's hundreds do not delay another's first."""

from __future__ import annotations

import asyncio

import pytest

from seamark.providers.edge.ratelimiter import MAX_CONCURRENT, MAX_CONCURRENT_PER_OWNER, RateLimiter
from seamark_runtime.errors import Retry
from tests.virtual_time import CLOCK, run


def now() -> float:
    return asyncio.get_running_loop().time()


async def ask(limiter: RateLimiter, owner: str, seconds: float = 0.0) -> float:
    """Make a request that takes so long; when its turn came."""
    async with limiter.slot(owner):
        began = now()
        await asyncio.sleep(seconds)
        return began


def test_a_first_request_comes_before_the_hundreds_of_another_namespace() -> None:
    async def case() -> None:
        limiter = RateLimiter(1200, CLOCK, max_wait=5.0)
        many = [asyncio.create_task(ask(limiter, "a")) for _ in range(200)]
        await asyncio.sleep(0.5)  # the burst is spent: one request each 50 ms
        assert await ask(limiter, "b") - 0.5 <= 0.1
        assert max(await asyncio.gather(*many)) == pytest.approx((200 + 1 - 120) * 0.05, abs=0.1)

    run(case())


def test_requests_that_take_long_leave_room_for_another_namespace() -> None:
    async def case() -> None:
        limiter = RateLimiter(12000, CLOCK)
        slow = [asyncio.create_task(ask(limiter, "a", 1.0)) for _ in range(12)]
        await asyncio.sleep(0)
        assert await ask(limiter, "b") == 0
        begun = await asyncio.gather(*slow)
        assert [begun.count(second) for second in (0, 1, 2)] == [MAX_CONCURRENT_PER_OWNER] * 3

    run(case())


def test_all_together_have_so_many_under_way() -> None:
    async def case() -> None:
        limiter = RateLimiter(12000, CLOCK)
        tasks = [asyncio.create_task(ask(limiter, f"{number}", 1.0)) for number in range(MAX_CONCURRENT + 3)]
        begun = await asyncio.gather(*tasks)
        assert [begun.count(second) for second in (0, 1)] == [MAX_CONCURRENT, 3]

    run(case())


def test_a_namespace_that_the_edge_asked_to_wait_holds_back_no_other() -> None:
    async def case() -> None:
        limiter = RateLimiter(1200, CLOCK, max_wait=5.0)
        limiter.suspend(Retry("too many checks", after=3.0), "a")
        held = asyncio.create_task(ask(limiter, "a"))
        await asyncio.sleep(0)
        assert await ask(limiter, "b") == 0
        assert await ask(limiter, "") == 0
        assert await held == 3.0
        limiter.suspend(Retry("too many checks", after=30.0), "a")
        with pytest.raises(Retry, match="too many checks") as refused:
            await ask(limiter, "a")
        assert refused.value.after == 30.0
        limiter.suspend(Retry("slow down", after=3.0))
        assert await ask(limiter, "b") == 6.0

    run(case())


def test_who_would_wait_too_long_is_told_and_leaves_nothing_behind() -> None:
    async def case() -> None:
        limiter = RateLimiter(60, CLOCK, max_wait=5.0)
        tasks = [asyncio.create_task(ask(limiter, "a")) for _ in range(30)]
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert sum(isinstance(result, Retry) for result in results) == 30 - 7 - 5
        left = [asyncio.create_task(ask(limiter, "b")) for _ in range(3)]
        await asyncio.sleep(0)
        left[1].cancel()
        began = await asyncio.gather(*left, return_exceptions=True)
        assert isinstance(began[1], asyncio.CancelledError)
        assert [began[0], began[2]] == [6.0, 7.0]
        blocked = [asyncio.create_task(ask(limiter, "c", 100.0)) for _ in range(MAX_CONCURRENT_PER_OWNER)]
        await asyncio.sleep(10)
        with pytest.raises(Retry):
            await ask(limiter, "c")
        for task in blocked:
            task.cancel()
        await asyncio.gather(*blocked, return_exceptions=True)
        assert await ask(limiter, "c") == now()

    run(case())
