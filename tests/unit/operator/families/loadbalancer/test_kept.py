"""Places stay their namespace's for a while: places rule 11."""

from __future__ import annotations

import asyncio

import pytest

from seamark.families.loadbalancer.model.kept import KeptPlaces, effective, gives_up
from seamark_edge.claims import Claim, Standing
from seamark_runtime.clock import SystemClock
from seamark_runtime.view import View

PLACE, HOLD = "aep.b.example.test", 600.0


class Time(SystemClock):
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def claim(namespace: str, standing: Standing = Standing.NAMED, *, refused: bool = False) -> Claim:
    return Claim(refused, standing, "2026-01-01T00:00:00Z", namespace, "web")


MINE, REFUSED, NEWER = claim("b", Standing.ASSIGNED), claim("a", refused=True), claim("a")
CHOSEN, RESERVED = claim("c", Standing.CHOSEN), claim("c", Standing.RESERVED)


@pytest.mark.parametrize(
    ("before", "first", "expected"),
    [
        (MINE, None, True),
        (MINE, REFUSED, True),
        (MINE, NEWER, True),
        (MINE, claim("b"), False),
        (MINE, CHOSEN, False),
        (MINE, RESERVED, False),
        (REFUSED, None, False),
        (REFUSED, MINE, False),
    ],
)
def test_a_place_is_given_up_when_its_namespace_has_it_no_more_and_the_edge_has_it_for_nobody_else(
    before: Claim, first: Claim | None, expected: bool
) -> None:
    assert gives_up(before, first) is expected


def test_the_namespace_that_a_place_is_kept_for_decides_unless_the_edge_has_it_for_another() -> None:
    assert [effective(first, MINE) for first in (None, REFUSED, NEWER)] == [MINE] * 3
    assert [effective(first, MINE) for first in (CHOSEN, RESERVED)] == [CHOSEN, RESERVED]
    assert [effective(first, None) for first in (None, REFUSED, NEWER)] == [None, REFUSED, NEWER]


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def places(time: Time) -> KeptPlaces:
    return KeptPlaces(HOLD, time)


def at(places: KeptPlaces, time: Time) -> str | None:
    found = places.at(View({}, time.now), PLACE)
    return None if found is None else found.namespace


def test_a_place_is_kept_until_its_hold_ends(places: KeptPlaces, time: Time) -> None:
    places.advance(PLACE, MINE, time.now)
    assert at(places, time) is None
    places.advance(PLACE, REFUSED, time.now)
    view = View({}, time.now)
    assert places.at(view, PLACE) == MINE
    assert view.requeue_at == HOLD  # its readers are requeued then
    time.now = HOLD - 0.1
    assert at(places, time) == "b"
    time.now = HOLD
    assert at(places, time) is None


def test_who_comes_and_goes_while_a_place_is_kept_does_not_get_it_kept_for_themselves(
    places: KeptPlaces, time: Time
) -> None:
    for first in (MINE, None, NEWER, None):
        places.advance(PLACE, first, time.now)
    assert at(places, time) == "b"
    time.now = HOLD
    for first in (REFUSED, None):
        places.advance(PLACE, first, time.now)
    assert at(places, time) is None


def test_a_place_that_is_replaced_twice_is_kept_from_the_second_time_on(places: KeptPlaces, time: Time) -> None:
    for first in (MINE, None, MINE):
        places.advance(PLACE, first, time.now)
    time.now = 500.0
    places.advance(PLACE, None, time.now)
    time.now = HOLD + 499.0
    assert at(places, time) == "b"


def test_no_more_is_remembered_than_is_kept(places: KeptPlaces, time: Time) -> None:
    for number in range(100):
        places.advance(f"{number}.example.test", MINE, time.now)
        places.advance(f"{number}.example.test", None, time.now)
    time.now = HOLD
    places.advance(PLACE, MINE, time.now)
    assert len(places._holds) == 0
    assert places._first == {PLACE: MINE}
    assert places.claims._facts == {}


def test_for_one_hold_time_of_a_term_it_is_not_known_what_was_given_up_before(places: KeptPlaces, time: Time) -> None:
    async def case() -> None:
        assert places.starting(View({}, time.now))
        time.now = 50.0
        term = asyncio.ensure_future(places.term())
        await asyncio.sleep(0)
        for now, starting in ((50.0, True), (HOLD + 49.0, True), (HOLD + 50.0, False)):
            assert places.starting(View({}, now)) is starting
        term.cancel()
        await asyncio.gather(term, return_exceptions=True)
        assert places.starting(View({}, HOLD + 50.0))

    asyncio.run(case())


@pytest.mark.parametrize("first", [None, REFUSED, NEWER, CHOSEN])
def test_the_same_claim_at_the_same_time_changes_nothing(places: KeptPlaces, first: Claim | None) -> None:
    places.advance(PLACE, MINE, 0.0)
    places.advance(PLACE, first, 1.0)
    facts, holders = dict(places.claims._facts), list(places._holds)
    places.advance(PLACE, first, 1.0)
    assert (dict(places.claims._facts), list(places._holds)) == (facts, holders)
