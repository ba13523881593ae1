"""Two joined connections, of which one is accepted before the other is connected."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from seamark_runtime.joined import Accepted, Joined
from tests.virtual_time import run, settle


class Wire:
    """A transport that records what is done with it."""

    def __init__(self) -> None:
        self.written = b""
        self.reading = True
        self.closing = False

    def set_write_buffer_limits(self, high: int) -> None:
        assert high > 0

    def write(self, data: bytes) -> None:
        self.written += data

    def pause_reading(self) -> None:
        self.reading = False

    def is_closing(self) -> bool:
        return self.closing


class Patient(Accepted):
    MOST_EARLY = 4


def on(end: Joined) -> Wire:
    wire: Any = Wire()
    end.connection_made(wire)
    return cast("Wire", wire)


def test_what_comes_early_is_kept_up_to_a_bound_and_sent_first() -> None:
    first, second = Patient(), Joined()
    near, far = on(first), on(second)
    first.keep(b"abc")
    assert near.reading
    first.keep(memoryview(b"d"))
    assert not near.reading
    assert first.joined(second)
    assert far.written == b"abcd"
    assert (first.other, second.other) == (second, first)


def test_nothing_is_joined_when_one_of_them_is_lost_or_closing() -> None:
    first, second = Patient(), Joined()
    near, far = on(first), on(second)
    first.keep(b"abc")
    near.closing = True
    assert not first.joined(second)
    near.closing = False
    second.connection_lost(None)
    assert not first.joined(second)
    assert far.written == b""


def test_a_client_that_leaves_ends_the_connecting() -> None:
    async def program() -> None:
        first = Patient()
        on(first)
        first.connecting = asyncio.ensure_future(asyncio.sleep(60))
        first.connection_lost(None)
        await settle()
        assert first.connecting.cancelled()

    run(program())
