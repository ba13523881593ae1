"""Slots: what counts as one source, and what happens when none is left."""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.holders import LOOKED_AT, Tally
from seamark_edge.edge.limits import EPISODE, ConnectionLimit, Pacer, Slot, source_of, within
from seamark_edge.edge.listeners import secured_listener
from seamark_edge.edge.routing import Router
from tests.hostile.edge.clients import hello


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8:0:1::1", "2001:db8:0:2::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("", "", True),
    ],
)
def test_a_source_is_an_ipv4_address_or_an_ipv6_network(one: str, other: str, same: bool) -> None:
    assert (source_of(one) == source_of(other)) is same


def taken(limit: ConnectionLimit, address: str, closed: list[int] | None = None) -> Slot:
    slot = limit.take(address)
    assert slot is not None
    if closed is not None:
        slot.close = lambda: closed.append(slot.number)
    return slot


def test_a_source_gets_its_share_and_a_slot_comes_back_once() -> None:
    limit = ConnectionLimit(per_source=2, total=3, unproven=9)
    first, second = taken(limit, "2001:db8::1"), taken(limit, "2001:db8::2")
    first.prove()
    second.prove()
    assert limit.take("2001:db8::3") is None
    first.release()
    first.release()
    assert limit.held == 1
    taken(limit, "2001:db8::4").prove()
    assert limit.take("2001:db8::5") is None


def test_all_sources_together_get_no_more_than_the_total() -> None:
    limit = ConnectionLimit(per_source=2, total=3, unproven=9)
    slots = [taken(limit, f"192.0.2.{number}") for number in range(3)]
    for slot in slots:
        slot.prove()
    assert limit.take("192.0.2.5") is None
    for slot in slots:
        slot.release()
    assert limit.held == 0
    assert limit.take("192.0.2.9") is not None


def test_a_source_at_its_limit_loses_its_own_oldest_unproven_connection() -> None:
    limit, closed = ConnectionLimit(per_source=2, total=9, unproven=9), list[int]()
    taken(limit, "192.0.2.9", closed)
    taken(limit, "192.0.2.1", closed).prove()
    for _ in range(3):
        taken(limit, "192.0.2.1", closed)
    assert closed == [3, 4]
    assert limit.held == 3


def test_at_the_total_the_source_with_the_most_unproven_connections_loses_its_oldest() -> None:
    limit, closed = ConnectionLimit(per_source=9, total=4, unproven=9), list[int]()
    for address in ("192.0.2.1", "192.0.2.2", "192.0.2.2", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5"):
        taken(limit, address, closed)
    assert closed == [2, 3, 1]  # of sources with as many, the one with the oldest
    assert limit.held == 4


def test_only_so_many_started_connections_are_unproven_and_silent_ones_do_not_count() -> None:
    limit, closed = ConnectionLimit(per_source=9, total=99, unproven=2), list[int]()
    slots = [taken(limit, "192.0.2.1", closed) for _ in range(8)]
    for slot in slots[:5]:
        slot.start()
        if slot is slots[1]:
            slot.prove()
    assert closed == [1, 3]
    assert [slot.released for slot in slots] == [True, False, True, False, False, False, False, False]
    for slot in slots:
        slot.release()
    assert limit.held == 0


def test_the_total_stays_below_the_files_that_the_process_may_open() -> None:
    assert within(10_000, 1024, 0.5) == 480
    assert within(100, 1024, 0.5) == 100
    assert within(100, 0, 0.5) == 100  # not known, or no limit


def test_what_arrives_all_at_once_is_spread_over_turns_in_its_order() -> None:
    done: list[int] = []

    async def case() -> None:
        pacer = Pacer(per_turn=4)
        for number in range(10):
            pacer.add(lambda number=number: done.append(number))  # type: ignore[misc]
        turns = []
        for _ in range(4):
            await asyncio.sleep(0)
            turns.append(len(done))
        assert turns == [4, 8, 10, 10]
        pacer.add(lambda: done.append(10))
        await asyncio.sleep(0)

    asyncio.run(case())
    assert done == list(range(11))


def test_a_tls_handshake_does_not_begin_before_its_hello_is_complete() -> None:
    """Half hellos whose other halves arrive together would be as many handshakes in one turn of the loop."""
    listener = secured_listener(
        cast("Router", None), lambda _: asyncio.Protocol(), ssl.create_default_context, cast("Any", None)
    )
    whole = hello("127.0.0.1")
    assert listener.look(whole[:1]) == 9
    assert listener.look(whole[:100]) == len(whole)
    assert callable(listener.look(whole))
    with pytest.raises(Refusal):
        listener.look(b"GET / HTTP/1.1")


def admitted(limit: ConnectionLimit, owner: str, address: str, closed: list[int], idle: float = 60.0) -> bool:
    slot = taken(limit, address, closed)
    slot.idle = lambda: idle
    if not slot.admit(owner):
        slot.release()
        return False
    return True


def owned(total: int = 11) -> tuple[ConnectionLimit, list[int], list[str]]:
    """Slots for ten connections to endpoints."""
    counted: list[str] = []
    return ConnectionLimit(99, total, 9, port="public", count=counted.append), [], counted


def test_where_no_slot_is_free_a_smaller_owner_gets_the_oldest_idle_connection_of_the_largest_one() -> None:
    limit, closed, counted = owned()
    for number in range(10):
        assert admitted(limit, "large", f"192.0.2.{number % 3}", closed, idle=0.0 if number == 0 else 60.0)
    assert not limit.reached
    assert admitted(limit, "small", "198.51.100.1", closed)
    assert closed == [4]  # of the source with the most; its first connection is in use
    assert limit.reached
    for _ in range(4):
        assert admitted(limit, "small", "198.51.100.1", closed)
    assert len(closed) == 5  # both have five now
    assert not admitted(limit, "small", "198.51.100.1", closed)
    assert not admitted(limit, "large", "192.0.2.1", closed)
    assert counted == ["displaced"] * 5 + ["refused"] * 2
    assert limit.held == 10


def test_owners_of_equal_size_do_not_displace_each_other_in_turn() -> None:
    limit, closed, _ = owned(3)
    assert admitted(limit, "one", "192.0.2.1", closed)
    assert admitted(limit, "other", "192.0.2.2", closed)
    for owner in ("one", "other", "third"):
        assert not admitted(limit, owner, "192.0.2.3", closed)
    assert closed == []


def test_within_an_owner_a_smaller_source_gets_a_connection_of_the_largest_one() -> None:
    limit, closed, _ = owned()
    for number in range(10):
        assert admitted(limit, "only", f"192.0.2.{number % 2}", closed)
    assert not admitted(limit, "only", "192.0.2.1", closed)
    assert admitted(limit, "only", "192.0.2.9", closed)
    assert closed == [1]


def test_where_all_are_in_use_the_one_that_was_used_first_is_closed_and_few_are_looked_at() -> None:
    asked: list[int] = []
    limit, closed = ConnectionLimit(9999, 1100, 99), list[int]()
    for _ in range(limit.capacity):
        slot = taken(limit, "192.0.2.1", closed)
        slot.idle = lambda number=slot.number: asked.append(number) or (4.0 if number == 7 else 1.0)  # type: ignore[misc,func-returns-value]
        assert slot.admit("large")
    assert admitted(limit, "small", "192.0.2.2", closed)
    assert closed == [7]
    assert asked == list(range(1, LOOKED_AT + 1))
    assert admitted(limit, "small", "192.0.2.2", closed)
    assert asked[LOOKED_AT] == LOOKED_AT + 1  # the next ones


def test_some_slots_are_kept_for_connections_whose_owner_is_not_known_yet() -> None:
    limit, closed, _ = owned(100)
    while admitted(limit, "large", "192.0.2.1", closed) and limit.held < 95:
        pass
    assert limit.held == limit.capacity == 91
    assert limit.take("192.0.2.2") is not None
    assert closed == []


def test_a_limit_that_is_reached_again_and_again_is_one_line_in_the_log() -> None:
    now = 0.0
    limit = ConnectionLimit(9, 2, 9, port="public", now=lambda: now)
    closed: list[int] = []
    with capture_logs() as lines:
        for _ in range(5):
            admitted(limit, "one", "192.0.2.1", closed)
        assert len(lines) == 1
        now = EPISODE - 1
        assert limit.reached
        admitted(limit, "one", "192.0.2.1", closed)
        now = 2 * EPISODE
        assert not limit.reached
        admitted(limit, "one", "192.0.2.1", closed)
    assert [(line["log_level"], line["port"], line["limit"]) for line in lines] == [("warning", "public", 2)] * 2


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=200))
def test_a_tally_knows_the_greatest_count_after_any_changes(changes: list[tuple[bool, int]]) -> None:
    tally, counts = Tally[int](), Counter[int]()
    for up, key in changes:
        if up:
            tally.up(key)
            counts[key] += 1
        elif counts[key]:
            tally.down(key)
            counts[key] -= 1
        assert tally.most == max(counts.values(), default=0)
        assert not tally or counts[tally.greatest()] == tally.most
    assert bool(tally) is bool(+counts)
