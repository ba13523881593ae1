"""Splices and relays: bytes joined both ways, without a socket."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, cast

from seamark_edge.wire.muxado import Code, Handler, Session, Stream
from seamark_edge.wire.muxado.frames import Bytes
from seamark_edge.wire.splice import Splice
from tests.bench.edge.relay import Relay


class Line:
    """A transport in memory: what was written, what was asked of it."""

    def __init__(self) -> None:
        self.written = b""
        self.reading = True
        self.ended = self.closed = self.aborted = False

    def write(self, data: Bytes) -> None:
        self.written += data

    def writelines(self, pieces: list[bytes]) -> None:
        self.written += b"".join(pieces)

    def write_eof(self) -> None:
        self.ended = True

    def can_write_eof(self) -> bool:
        return True

    def is_closing(self) -> bool:
        return self.closed or self.aborted

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default


class End:
    """One side of a muxado session; streams that the peer opens become splices."""

    def __init__(self, *, client: bool) -> None:
        self.session = Session(self, client=client)
        self.out: deque[bytes] = deque()
        self.splices: list[Splice] = []

    def transmit(self, pieces: list[Bytes]) -> None:
        self.out.extend(bytes(piece) for piece in pieces)

    def opened(self, stream: Stream, kind: int) -> Handler:
        splice = Splice()
        splice.stream = stream
        self.splices.append(splice)
        return splice

    def going_away(self, code: int, debug: bytes) -> None:
        pass

    def failed(self, error: Exception) -> None:
        raise error


def plugged(join: Splice | Relay) -> Line:
    line = Line()
    join.connection_made(cast("asyncio.BaseTransport", line))
    return line


class Tunnel:
    """Two connections, a splice at each, a session between them."""

    def __init__(self, *, connected: bool = True) -> None:
        self.near, self.far = End(client=False), End(client=True)
        self.one = Splice()
        self.client = plugged(self.one)
        self.one.stream = self.near.session.open(3, self.one)
        self.carry()
        self.two = self.far.splices[0]
        self.service = plugged(self.two) if connected else Line()

    def carry(self) -> None:
        while self.near.out or self.far.out:
            if self.near.out:
                self.far.session.feed(self.near.out.popleft())
            if self.far.out:
                self.near.session.feed(self.far.out.popleft())


def test_bytes_and_half_closes_travel_both_ways() -> None:
    tunnel = Tunnel()
    tunnel.one.data_received(b"question")
    assert tunnel.one.eof_received()
    tunnel.carry()
    assert (tunnel.service.written, tunnel.service.ended) == (b"question", True)
    tunnel.two.data_received(b"answer after the half-close")
    tunnel.two.eof_received()
    tunnel.carry()
    assert tunnel.client.written == b"answer after the half-close"
    assert tunnel.client.closed
    assert not tunnel.near.session.streams
    assert not tunnel.far.session.streams


def test_what_comes_before_the_service_is_connected_is_kept() -> None:
    tunnel = Tunnel(connected=False)
    tunnel.one.data_received(b"early")
    tunnel.one.eof_received()
    tunnel.carry()
    line = plugged(tunnel.two)
    assert (line.written, line.ended) == (b"early", True)


def test_a_client_that_does_not_drain_stops_the_service_after_one_window() -> None:
    tunnel = Tunnel()
    tunnel.one.pause_writing()
    sent = 0
    while tunnel.service.reading and sent < 10_000_000:
        tunnel.two.data_received(b"x" * 65536)
        sent += 65536
        tunnel.carry()
    window = tunnel.near.session.limits.window
    assert len(tunnel.client.written) == window
    tunnel.one.resume_writing()
    tunnel.carry()
    assert tunnel.service.reading
    assert len(tunnel.client.written) == sent


def test_a_lost_client_resets_the_stream_and_that_cuts_the_service() -> None:
    tunnel = Tunnel()
    tunnel.one.connection_lost(None)
    tunnel.carry()
    assert tunnel.service.aborted
    assert not tunnel.near.session.streams


def test_a_lost_session_cuts_the_client() -> None:
    tunnel = Tunnel()
    tunnel.near.session.lost(Code.SESSION_CLOSED)
    assert tunnel.client.aborted


def test_a_relay_joins_two_connections_and_keeps_what_came_early() -> None:
    one, two = Relay(), Relay()
    left = plugged(one)
    one.data_received(b"early ")
    assert not left.reading
    right = plugged(two)
    one.join(two)
    assert (right.written, left.reading) == (b"early ", True)
    one.data_received(b"and late")
    two.data_received(b"back")
    assert (right.written, left.written) == (b"early and late", b"back")


def test_a_relay_passes_pressure_half_closes_and_losses_on() -> None:
    one, two = Relay(), Relay()
    left, right = plugged(one), plugged(two)
    one.join(two)
    two.pause_writing()
    assert not left.reading
    two.resume_writing()
    assert left.reading
    assert one.eof_received()
    assert right.ended
    two.eof_received()
    assert left.closed
    two.connection_lost(None)
    assert one.peer is two


def test_a_relay_whose_target_never_came_is_closed_with_it() -> None:
    one, two = Relay(), Relay()
    left = plugged(one)
    one.join(two)
    assert left.closed
