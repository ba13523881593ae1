"""The queue's promises, each by name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_runtime.api.meta import Key
from seamark_runtime.backoff import Backoff
from seamark_runtime.delayingqueue import SPARE
from seamark_runtime.queue import Queue
from seamark_runtime.request import Request
from tests.unit.runtime.scripted import TopOfTheRange
from tests.virtual_time import NothingLeft, elapsed, run, settle


def item(name: str, namespace: str = "ns", kind: str = "lamps") -> Request:
    return Request(kind, Key(namespace, name))


A, B, C = item("a"), item("b"), item("c")


def steady() -> Queue:
    """Backoff of exactly 1, 2, 4, 8 and from then on 10 seconds."""
    return Queue(TopOfTheRange(), Backoff(first=1.0, most=10.0))


def scenario(test: Callable[[Queue], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def runs() -> None:
        async def program() -> None:
            await test(steady())

        run(program())

    runs.__name__ = test.__name__
    return runs


async def drained(queue: Queue) -> list[Request]:
    taken = []
    while len(queue):
        taken.append(await queue.take())
        queue.done(taken[-1])
    return taken


@scenario
async def test_a_key_added_many_times_is_handed_out_once(queue: Queue) -> None:
    for _ in range(5):
        queue.add(A)
    assert len(queue) == 1
    assert await drained(queue) == [A]
    assert queue.idle


@scenario
async def test_a_key_added_while_in_a_worker_comes_again_only_when_that_one_is_done(queue: Queue) -> None:
    queue.add(A)
    assert await queue.take() == A
    queue.add(A)
    queue.add(A)
    assert len(queue) == 0
    queue.done(A)
    assert await drained(queue) == [A]


@scenario
async def test_a_worker_that_waits_is_woken_by_an_add(queue: Queue) -> None:
    waiting = asyncio.create_task(queue.take())
    await settle()
    queue.add(A)
    assert await waiting == A


@scenario
async def test_a_cancelled_worker_hands_its_turn_on(queue: Queue) -> None:
    first, second = asyncio.create_task(queue.take()), asyncio.create_task(queue.take())
    await settle()
    queue.add(A)
    first.cancel()
    assert await second == A


@scenario
async def test_a_key_for_later_comes_exactly_then(queue: Queue) -> None:
    queue.add_after(A, 7.5)
    assert await queue.take() == A
    assert elapsed() == 7.5


@scenario
async def test_only_the_earliest_time_counts(queue: Queue) -> None:
    queue.add_after(A, 9)
    queue.add_after(A, 3)
    queue.add_after(A, 20)
    assert await queue.take() == A
    assert elapsed() == 3
    queue.done(A)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(queue.take(), 100)


@scenario
async def test_adding_now_replaces_a_later_time(queue: Queue) -> None:
    queue.add_after(A, 5)
    queue.add(A)
    assert await drained(queue) == [A]
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(queue.take(), 100)


@scenario
async def test_a_cancelled_time_does_not_come(queue: Queue) -> None:
    queue.add_after(A, 5)
    queue.cancel(A)
    queue.add_after(B, 6)
    assert await queue.take() == B
    assert elapsed() == 6


@scenario
async def test_a_time_that_comes_while_the_key_is_in_a_worker_is_not_lost(queue: Queue) -> None:
    queue.add(A)
    await queue.take()
    queue.add_after(A, 2)
    await asyncio.sleep(3)
    assert len(queue) == 0
    queue.done(A)
    assert await drained(queue) == [A]


@scenario
async def test_backoff_doubles_per_key_up_to_its_bound_and_success_ends_it(queue: Queue) -> None:
    gaps = []
    for _ in range(6):
        since = elapsed()
        queue.add_failed(A)
        assert await queue.take() == A
        queue.done(A)
        gaps.append(elapsed() - since)
    assert gaps == [1, 2, 4, 8, 10, 10]
    assert queue.failures(A) == 6
    assert queue.failures(B) == 0
    queue.succeeded(A)
    since = elapsed()
    queue.add_failed(A)
    await queue.take()
    assert elapsed() - since == 1


@scenario
async def test_a_server_that_asks_for_more_time_gets_it(queue: Queue) -> None:
    queue.add_failed(A, at_least=5)
    await queue.take()
    assert elapsed() == 5
    queue.done(A)
    queue.add_failed(A, at_least=0.1)
    await queue.take()
    assert elapsed() == 7  # the backoff is longer than what was asked for


def test_jitter_keeps_keys_that_failed_together_apart() -> None:
    backoff, random = Backoff(first=1.0, most=10.0), Random(1)
    pauses = [backoff.pause(random, 2) for _ in range(100)]
    assert all(2 <= pause <= 4 for pause in pauses)
    assert max(pauses) - min(pauses) > 1
    assert backoff.pause(random, 10_000) <= 10


@scenario
async def test_kinds_take_turns(queue: Queue) -> None:
    many = [item(str(n)) for n in range(100)]
    other = item("x", kind="boats")
    for key in [*many, other]:
        queue.add(key)
    assert (await drained(queue)).index(other) == 1


@scenario
async def test_namespaces_take_turns_within_a_kind(queue: Queue) -> None:
    for n in range(100):
        queue.add(item(str(n), namespace="loud"))
    quiet = [item(str(n), namespace="quiet") for n in range(3)]
    for key in quiet:
        queue.add(key)
    order = await drained(queue)
    assert [order.index(key) for key in quiet] == [1, 3, 5]


@scenario
async def test_within_a_namespace_the_first_comes_first(queue: Queue) -> None:
    for key in (C, A, B):
        queue.add(key)
    assert await drained(queue) == [C, A, B]


@scenario
async def test_all_done_returns_when_no_key_is_in_a_worker(queue: Queue) -> None:
    queue.add(A)
    queue.add(B)
    await queue.take()
    await queue.take()
    waiting = asyncio.create_task(queue.all_done())
    queue.done(A)
    await settle()
    assert not waiting.done()
    queue.done(B)
    await waiting


def test_a_closed_queue_leaves_no_timer_behind() -> None:
    async def program() -> None:
        queue = steady()
        queue.add_after(A, 5)
        queue.close()
        await queue.take()

    with pytest.raises(NothingLeft):
        run(program())


ITEMS = st.sampled_from([item(n, s, k) for n in "ab" for s in ("n1", "n2") for k in ("k1", "k2")])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), ITEMS),
        st.tuples(st.just("later"), ITEMS, st.floats(0, 5)),
        st.tuples(st.just("failed"), ITEMS),
        st.tuples(st.just("pause"), st.floats(0.1, 3)),
    ),
    max_size=40,
)


@given(steps=STEPS, workers=st.integers(1, 4), seed=st.integers(0, 99), each=st.sampled_from([1.0, 2.0, float("inf")]))
def test_no_key_is_in_two_workers_and_none_is_lost(steps: list[Any], workers: int, seed: int, each: float) -> None:
    async def program() -> None:
        queue, random = Queue(Random(seed), per_namespace=each), Random(seed)
        holding: set[Request] = set()
        served: dict[Request, float] = {}
        wanted: dict[Request, float] = {}

        async def work() -> None:
            while True:
                key = await queue.take()
                assert key not in holding
                holding.add(key)
                assert sum(other.key.namespace == key.key.namespace for other in holding) <= each
                served[key] = elapsed()
                await asyncio.sleep(random.random())
                holding.discard(key)
                queue.done(key)

        tasks = [asyncio.create_task(work()) for _ in range(workers)]
        for step in steps:
            match step:
                case ("add", key):
                    queue.add(key)
                    wanted[key] = elapsed()
                case ("later", key, delay):
                    queue.add_after(key, delay)
                    wanted.setdefault(key, elapsed())
                case ("failed", key):
                    queue.add_failed(key)
                    wanted.setdefault(key, elapsed())
                case ("pause", seconds):
                    await asyncio.sleep(seconds)
        await asyncio.sleep(1000)
        assert queue.idle
        assert all(served[key] >= moment for key, moment in wanted.items())
        for task in tasks:
            assert not task.done()
            task.cancel()

    run(program())


@scenario
async def test_times_that_count_no_more_are_not_kept_until_they_come(queue: Queue) -> None:
    for number in range(1000):
        queue.add_after(item(str(number)), 3600)
        queue.cancel(item(str(number)))
    queue.add_after(A, 5)
    assert len(queue._heap) < 2 * SPARE
    await asyncio.sleep(6)
    assert await drained(queue) == [A]


def test_so_many_keys_of_one_namespace_are_in_workers_and_the_next_worker_is_for_another() -> None:
    async def program() -> None:
        queue = Queue(Random(0), per_namespace=2)
        began: list[tuple[str, float]] = []

        async def work() -> None:
            while True:
                key = await queue.take()
                began.append((key.key.name, elapsed()))
                await asyncio.sleep(1)
                queue.done(key)

        tasks = [asyncio.create_task(work()) for _ in range(4)]
        for number in range(4):
            queue.add(item(f"a{number}", "tenant-a"))
        await asyncio.sleep(0.5)
        queue.add(item("b", "tenant-b"))
        for number in range(3):
            queue.add(item(f"cluster{number}", ""))
        await asyncio.sleep(5)
        assert [began[0], began[1]] == [("a0", 0), ("a1", 0)]
        assert {name for name, at in began if at == 0.5} == {"b", "cluster0"}
        assert {name for name, at in began if at == 1} == {"a2", "cluster1"}
        assert len(began) == 8
        assert queue.idle
        for task in tasks:
            task.cancel()

    run(program())
