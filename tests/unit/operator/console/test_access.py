"""Whose a token is: definite answers are remembered, others are not, and anonymous requests cost next to nothing."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext, suppress

import pytest

from seamark.console import access, budget
from seamark.console.access import CACHE_SECONDS, Access, Undecided, User
from seamark.console.budget import Budget, TooManyAttempts, group_of
from seamark.explain import kinds
from tests.unit.operator.console.reviews import Reviews

GOOD = {"good": "ann"}


class Clock:
    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


@pytest.mark.parametrize("trouble", [503, 429, 500, 403, 200, None])
def test_only_a_definite_answer_is_remembered(trouble: int | None) -> None:
    """One 503 must not reject a good token for a minute."""
    reviews = Reviews(GOOD)
    reviews.trouble = [trouble]

    async def story() -> None:
        known = Access(reviews, Clock())
        with pytest.raises(Undecided):
            await known.user("good")
        assert await known.user("good") == User("ann")

    asyncio.run(story())


def test_a_right_that_could_not_be_asked_for_is_not_a_right_that_is_refused() -> None:
    reviews = Reviews(GOOD, {"ann": {("list", "services", "")}})
    reviews.trouble = [503]

    async def story() -> None:
        known = Access(reviews, Clock())
        with pytest.raises(Undecided):
            await known.may_read(User("ann"), kinds.SERVICE, "shop")
        assert await known.may_read(User("ann"), kinds.SERVICE, "shop")

    asyncio.run(story())


def test_answers_count_for_a_minute() -> None:
    reviews, clock = Reviews(dict(GOOD)), Clock()

    async def story() -> None:
        known = Access(reviews, clock)
        assert await known.user("good") == await known.user("good")
        assert await known.user("bad") is await known.user("bad") is None
        assert len(reviews.asked) == 2
        del reviews.tokens["good"]
        clock.time += CACHE_SECONDS + 1
        assert await known.user("good") is None
        assert len(reviews.asked) == 3

    asyncio.run(story())


@pytest.mark.parametrize("token", ["", "a" * 20_000, "ü", "a\nb", "a\0"])
def test_what_can_be_no_token_is_not_asked_about(token: str) -> None:
    reviews = Reviews(GOOD)
    assert asyncio.run(Access(reviews, Clock()).user(token, "192.0.2.1")) is None
    assert reviews.asked == []


def test_a_source_has_a_few_attempts_with_unknown_tokens() -> None:
    reviews, clock = Reviews(GOOD), Clock()

    async def attempts(known: Access, number: int, source: str, what: str) -> int:
        """How many were asked about."""
        before = len(reviews.asked)
        for one in range(number):
            with suppress(TooManyAttempts):
                assert await known.user(f"{what}-{one}", source) is None
        return len(reviews.asked) - before

    async def story() -> None:
        known = Access(reviews, clock)
        assert await attempts(known, 1000, "192.0.2.1", "a") == 10
        assert await known.user("good", "192.0.2.2") == User("ann"), "another source has its own"
        assert await known.user("good", "192.0.2.1") == User("ann"), "a token that is known costs nothing"
        clock.time += 60
        assert await attempts(known, 1000, "192.0.2.1", "b") == 10
        assert await attempts(known, 1000, "2001:db8::1", "c") == 10
        assert await attempts(known, 1000, "2001:db8::2", "d") == 0, "a network counts as one"

    asyncio.run(story())


def test_good_tokens_are_given_back_to_their_source() -> None:
    reviews = Reviews({f"good-{number}": "ann" for number in range(50)})

    async def story() -> None:
        known = Access(reviews, Clock())
        for token in reviews.tokens:
            assert await known.user(token, "192.0.2.1") == User("ann")

    asyncio.run(story())


def test_all_sources_together_have_a_rate() -> None:
    reviews = Reviews(GOOD)

    async def story() -> None:
        known = Access(reviews, Clock())
        for number in range(1000):
            with pytest.raises(TooManyAttempts) if number >= 100 else nullcontext():
                await known.user("bad" * (number + 1), f"10.0.{number // 250}.{number % 250}")
        assert len(reviews.asked) == 100

    asyncio.run(story())


def test_few_reviews_run_at_the_same_time_and_one_token_is_asked_about_once() -> None:
    class Slow(Reviews):
        running = most = 0

        async def send(self, request):  # type: ignore[no-untyped-def]  # as its base
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(0)
            self.running -= 1
            return await super().send(request)

    reviews = Slow({f"good-{number}": "ann" for number in range(20)})

    async def story() -> None:
        known = Access(reviews, Clock())
        await asyncio.gather(*(known.user(token) for _ in range(5) for token in reviews.tokens))

    asyncio.run(story())
    assert reviews.most == access.MAX_CONCURRENT_REVIEWS
    assert len(reviews.asked) == 20


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "MAX_ENTRIES", 10)
    monkeypatch.setattr(budget, "MAX_SOURCES", 10)
    clock = Clock()

    async def story() -> None:
        known = Access(Reviews(GOOD), clock, Budget(clock, overall=(1000.0, 1.0)))
        for number in range(100):
            await known.user(f"bad-{number}", f"192.0.2.{number}")
            await known.may_read(User("ann"), kinds.SERVICE, f"ns-{number}")
        assert (len(known._users), len(known._rights), len(known._budget._sources)) == (10, 10, 10)
        clock.time += CACHE_SECONDS + 1
        await known.user("good")
        assert len(known._users) == 1

    asyncio.run(story())


def test_sources_are_grouped_by_what_one_party_has() -> None:
    assert group_of("2001:db8::1") == group_of("2001:db8::ffff") != group_of("2001:db8:0:1::1")
    assert group_of("::ffff:192.0.2.1") == group_of("192.0.2.1") != group_of("192.0.2.2")
    assert group_of("unix") == "unix"
