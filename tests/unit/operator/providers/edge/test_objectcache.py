"""What is at an edge, kept in mind: by few requests, and never wrong about our own things."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest

from seamark.providers.edge.calls import Kind
from seamark.providers.edge.memory import MemoryCalls
from seamark.providers.edge.objectcache import Freshness, ObjectCache
from seamark_edge.model import Fields, Owner
from seamark_runtime.errors import Refused, Retry, SeamarkError

OWNER = Owner("cluster", "shop", "web", "uid-1")


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> datetime:
        return datetime.fromtimestamp(self.now, UTC)


class Gated(MemoryCalls):
    """Each call waits at a gate: `before` it takes effect, or `after`."""

    def __init__(self) -> None:
        super().__init__()
        self.before: dict[str, asyncio.Event] = {}
        self.after: dict[str, asyncio.Event] = {}
        self.down = False
        self.fails: dict[str, SeamarkError] = {}
        self.at_once = self.most = 0

    async def listed(self, kind: Kind, *, limit: int = 0, where: str = "") -> list[Fields]:
        if self.down:
            raise Retry("the edge is closed")
        await self._pass(self.before, "listed")
        found = await super().listed(kind, limit=limit, where=where)
        await self._pass(self.after, "listed")
        return found

    async def create(self, kind: Kind, body: Fields) -> Fields:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await self._pass(self.before, "create")
        if "create" in self.fails:
            raise self.fails["create"]
        made = await super().create(kind, body)
        await self._pass(self.after, "create")
        self.at_once -= 1
        return made

    async def _pass(self, gates: dict[str, asyncio.Event], name: str) -> None:
        await asyncio.sleep(0)
        if name in gates:
            await gates[name].wait()


def told(story: Callable[[Gated, ObjectCache, Clock], Awaitable[None]]) -> None:
    async def program() -> None:
        calls, clock = Gated(), Clock()
        await story(calls, ObjectCache(calls, Kind.ADDRESSES, Freshness(60.0, 180.0, clock)), clock)

    asyncio.run(program())


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_owners_do_not_wait_for_each_other_and_one_listing_serves_all() -> None:
    async def story(calls: Gated, cache: ObjectCache, _clock: Clock) -> None:
        owners = [Owner("cluster", "shop", "web", f"uid-{number}") for number in range(20)]
        await asyncio.gather(*(cache.ensure(owner, {}) for owner in owners))
        assert calls.most > 1
        assert calls.requests == 21

    told(story)


def test_a_call_that_is_given_up_in_the_middle_has_had_its_effect() -> None:
    """A lost reply: the next try finds what the first one made."""

    async def story(calls: Gated, cache: ObjectCache, _clock: Clock) -> None:
        calls.after["create"] = asyncio.Event()
        trying = asyncio.create_task(cache.ensure(OWNER, {}))
        await turns()
        trying.cancel()
        await asyncio.gather(trying, return_exceptions=True)
        calls.after.clear()
        made = await cache.ensure(OWNER, {})
        assert [item["id"] for item in await calls.listed(Kind.ADDRESSES)] == [made["id"]]

    told(story)


def test_what_was_made_and_deleted_while_a_listing_was_under_way_counts() -> None:
    async def story(calls: Gated, cache: ObjectCache, clock: Clock) -> None:
        other = Owner("cluster", "shop", "old", "uid-2")
        await cache.ensure(other, {})
        clock.now = 10.0
        calls.after["listed"] = asyncio.Event()  # the answer is made, and on its way
        listing = asyncio.create_task(cache.refresh())
        await turns()
        made = await cache.ensure(OWNER, {})
        await cache.delete(other)
        calls.after["listed"].set()
        found = await listing
        assert found == {OWNER: made}
        assert await cache.ensure(OWNER, {}) == made
        assert await cache.find(other) is None

    told(story)


def test_an_edge_that_does_not_answer_changes_nothing_for_a_while() -> None:
    async def story(calls: Gated, cache: ObjectCache, clock: Clock) -> None:
        made = await cache.ensure(OWNER, {})
        calls.down, clock.now = True, 170.0
        assert await cache.find(OWNER) == made
        clock.now = 190.0
        with pytest.raises(Retry):
            await cache.find(OWNER)

    told(story)


def test_what_was_lost_there_is_noticed_when_the_listing_has_aged() -> None:
    async def story(calls: Gated, cache: ObjectCache, clock: Clock) -> None:
        made = await cache.ensure(OWNER, {})
        await calls.delete(Kind.ADDRESSES, made["id"])
        assert await cache.ensure(OWNER, {}) == made
        clock.now = 61.0
        again = await cache.ensure(OWNER, {})
        assert again["id"] != made["id"]

    told(story)


def test_what_is_said_beside_the_mark_stays() -> None:
    async def story(calls: Gated, cache: ObjectCache, _clock: Clock) -> None:
        for said in ('{"team":"a"}', "just words", "[1]"):
            owner = Owner("cluster", "shop", said, "uid")
            made = await cache.ensure(owner, {"metadata": said})
            assert Owner.of(made["metadata"]) == owner
        assert '"team":"a"' in (await calls.listed(Kind.ADDRESSES))[2]["metadata"]

    told(story)


def test_a_call_of_one_owner_that_is_given_up_makes_no_other_wait_for_a_listing() -> None:
    async def story(calls: Gated, cache: ObjectCache, _clock: Clock) -> None:
        await cache.refresh()
        calls.after["create"] = asyncio.Event()
        trying = asyncio.create_task(cache.ensure(OWNER, {}))
        await turns()
        trying.cancel()
        await asyncio.gather(trying, return_exceptions=True)
        calls.after.clear()
        calls.before["listed"] = asyncio.Event()  # no listing comes to an end
        other = Owner("cluster", "other", "web", "uid-2")
        assert (await asyncio.wait_for(cache.ensure(other, {}), 5))["id"]
        again = asyncio.create_task(cache.ensure(OWNER, {}))
        await turns()
        assert not again.done()
        calls.before["listed"].set()
        assert (await again)["id"]

    told(story)


@pytest.mark.parametrize("error", [Retry("busy", after=1.0), Refused("no")])
def test_an_answer_that_changed_nothing_causes_no_listing(error: SeamarkError) -> None:
    async def story(calls: Gated, cache: ObjectCache, _clock: Clock) -> None:
        await cache.refresh()
        calls.fails["create"] = error
        with pytest.raises(type(error)):
            await cache.ensure(OWNER, {})
        calls.fails.clear()
        calls.before["listed"] = asyncio.Event()
        assert (await asyncio.wait_for(cache.ensure(OWNER, {}), 5))["id"]

    told(story)
