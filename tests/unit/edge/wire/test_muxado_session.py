"""Sessions: two state machines joined back to back, without a socket between them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from seamark_edge.wire.muxado import (
    WINDOW,
    Code,
    Limits,
    ProtocolError,
    SessionClosed,
    Stream,
    data_header,
    goaway_frame,
    rst_frame,
    wndinc_frame,
)
from seamark_edge.wire.muxado.frames import FIN, SYN, Bytes
from seamark_edge.wire.muxado.stream import HEARTBEAT
from tests.unit.edge.wire.muxado_ends import End, Taker, carry, pair


def test_a_stream_carries_its_type_its_bytes_and_its_half_close() -> None:
    client, server = pair()
    stream, mine = client.open(0x1234, b"first ")
    stream.write(b"second")
    stream.finish()
    carry(client, server)
    theirs = server.taken[1]
    assert (server.kinds, bytes(theirs.data), theirs.is_ended) == ([0x1234], b"first second", True)
    assert theirs.stream is not None
    theirs.stream.write(b"answer after the half-close")
    theirs.stream.finish()
    carry(client, server)
    assert (bytes(mine.data), mine.is_ended) == (b"answer after the half-close", True)
    assert not client.session.streams
    assert not server.session.streams


def test_servers_open_even_streams_and_clients_odd_ones() -> None:
    client, server = pair()
    assert [server.open()[0].id, server.open()[0].id] == [2, 4]
    assert [client.open()[0].id, client.open()[0].id] == [1, 3]


def test_a_reader_that_takes_nothing_gets_one_window_and_the_writer_waits() -> None:
    client, server = pair(greedy=False)
    stream, mine = client.open()
    assert not stream.write(b"x" * (WINDOW * 2))
    carry(client, server)
    theirs = server.taken[1]
    assert len(theirs.data) == WINDOW - 4
    assert mine.roused == 0
    assert theirs.stream is not None
    theirs.stream.credit(WINDOW - 4)
    carry(client, server)
    assert len(theirs.data) == 2 * WINDOW - 4
    theirs.stream.credit(WINDOW)
    carry(client, server)
    assert (len(theirs.data), mine.roused) == (2 * WINDOW, 1)


def test_a_congested_connection_holds_writers_back_and_wakes_them_in_turn() -> None:
    client, server = pair()
    takers = [client.open() for _ in range(3)]
    carry(client, server)
    client.session.pause()
    for stream, _ in takers:
        assert not stream.write(b"y")
    assert not client.out
    client.session.resume()
    carry(client, server)
    assert [taker.roused for _, taker in takers] == [1, 1, 1]
    assert [bytes(server.taken[s.id].data) for s, _ in takers] == [b"y"] * 3


def test_room_in_the_window_while_congested_is_used_once_the_connection_has_room() -> None:
    client, server = pair(greedy=False)
    stream, mine = client.open()
    stream.write(b"x" * (WINDOW + 1))
    carry(client, server)
    client.session.pause()
    theirs = server.taken[1]
    assert theirs.stream is not None
    theirs.stream.credit(WINDOW)
    carry(client, server)
    assert mine.roused == 0
    client.session.resume()
    carry(client, server)
    assert (len(theirs.data), mine.roused) == (WINDOW + 1, 1)


def test_a_finish_waits_for_what_was_written_before_it() -> None:
    client, server = pair(greedy=False)
    stream, _ = client.open()
    stream.write(b"x" * (WINDOW + 10))
    stream.finish()
    carry(client, server)
    theirs = server.taken[1]
    assert not theirs.is_ended
    assert theirs.stream is not None
    theirs.stream.credit(WINDOW)
    carry(client, server)
    assert (len(theirs.data), theirs.is_ended) == (WINDOW + 10, True)


def test_an_abandoned_stream_says_fin_takes_the_rest_of_the_window_and_credits_nothing() -> None:
    client, server = pair()
    stream, mine = client.open()
    carry(client, server)
    theirs = server.taken[1]
    stream.abandon()
    assert theirs.stream is not None
    assert not theirs.stream.write(b"z" * (WINDOW * 3))
    carry(client, server)
    assert theirs.is_ended
    assert not mine.data
    assert theirs.roused == 0
    stream.forget()
    assert not client.session.streams


def test_a_reset_reaches_the_other_side_once_and_later_data_is_ignored() -> None:
    client, server = pair()
    stream, _ = client.open()
    carry(client, server)
    stream.reset(Code.STREAM_CANCELLED)
    theirs = server.taken[1]
    assert theirs.stream is not None
    theirs.stream.write(b"crossing")
    carry(client, server)
    assert theirs.lost_with == Code.STREAM_CANCELLED
    assert not server.session.streams


def test_heartbeats_are_echoed_without_an_owner() -> None:
    client, server = pair()
    stream, mine = client.open(HEARTBEAT)
    stream.write(b"\1\2\3\4")
    carry(client, server)
    stream.write(b"\5\6\7\10")
    carry(client, server)
    assert bytes(mine.data) == b"\1\2\3\4\5\6\7\10"
    assert server.kinds == []


def test_after_a_goaway_no_stream_opens_and_open_ones_go_on() -> None:
    client, server = pair()
    stream, _ = client.open()
    carry(client, server)
    server.session.leave(Code.NO_ERROR, b"maintenance")
    carry(client, server)
    assert client.gone == (0, b"maintenance")
    with pytest.raises(SessionClosed):
        client.open()
    stream.write(b"still here")
    carry(client, server)
    assert bytes(server.taken[1].data) == b"still here"


def test_a_goaway_loses_the_streams_that_the_peer_never_saw() -> None:
    client, _ = pair()
    _, first = client.open()
    _, second = client.open()
    client.session.feed(goaway_frame(1, 0))
    assert (first.lost_with, second.lost_with) == (None, Code.REMOTE_GONE_AWAY)


def test_a_lost_connection_loses_every_stream_once() -> None:
    client, server = pair()
    takers = [client.open()[1] for _ in range(3)]
    carry(client, server)
    client.session.lost()
    client.session.lost()
    assert [taker.lost_with for taker in takers] == [Code.SESSION_CLOSED] * 3


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (data_header(2, 4, SYN) + b"\0\0\0\1", Code.PROTOCOL),
        (data_header(7, 1) + b"x", Code.PROTOCOL),
        (data_header(8, 1) + b"x", Code.PROTOCOL),
        (data_header(1, 4, SYN) + b"\0\0\0\1" + data_header(1, 4, SYN) + b"\0\0\0\1", Code.PROTOCOL),
        (data_header(1, WINDOW + 1, SYN) + b"\0" * (WINDOW + 1), Code.FLOW_CONTROL),
        (wndinc_frame(1, 0), Code.PROTOCOL),
        (data_header(1, 4, SYN) + b"\0\0\0\1" + wndinc_frame(1, 0x7FFFFFFF), Code.FLOW_CONTROL),
        (b"".join(data_header(2 * i + 1, 4, SYN) + b"\0\0\0\1" for i in range(5)), Code.ENHANCE_YOUR_CALM),
    ],
    ids=["parity", "never opened", "never opened by us", "twice", "over window", "zero inc", "big inc", "too many"],
)
def test_a_peer_that_breaks_the_rules_gets_a_goaway_with_the_reason(raw: bytes, code: Code) -> None:
    server = End(client=False, limits=Limits(inbound=4))
    with pytest.raises(ProtocolError) as caught:
        server.session.feed(raw)
    assert caught.value.code == code
    assert b"".join(server.out)[3] >> 4 == 3


def test_streams_that_ended_make_room_for_new_ones() -> None:
    server = End(client=False, limits=Limits(inbound=1))
    for number in (1, 3, 5):
        server.session.feed(data_header(number, 4, SYN) + b"\0\0\0\1" + rst_frame(number, 0))
    server.session.feed(data_header(7, 2, SYN | FIN) + b"\0\0")
    server.session.feed(data_header(9, 4, SYN) + b"\0\0\0\1")
    assert list(server.session.streams) == [9]


@given(st.lists(st.binary(max_size=80), max_size=20))
def test_any_bytes_leave_the_session_whole_or_end_it(pieces: list[bytes]) -> None:
    server = End(client=False, limits=Limits(inbound=8))
    for _ in range(2):
        server.open()
    with suppress(ProtocolError):
        for piece in pieces:
            server.session.feed(piece)
    assert len(server.session.streams) <= 10


class Conversation(RuleBasedStateMachine):
    """Writers, readers, half-closes and congestion in any order: bytes arrive in order, none lost, none twice."""

    def __init__(self) -> None:
        super().__init__()
        self.client, self.server = pair(greedy=False)
        self.sent: dict[int, bytearray] = {}
        self.streams: dict[int, Stream] = {}
        self.credited: dict[int, int] = {}

    @rule()
    def opens(self) -> None:
        if len(self.streams) < 4:
            stream, _ = self.client.open()
            self.streams[stream.id] = stream
            self.sent[stream.id] = bytearray()

    @rule(which=st.integers(0, 3), size=st.integers(0, WINDOW))
    def writes(self, which: int, size: int) -> None:
        if which < len(self.streams):
            number = list(self.streams)[which]
            data = bytes([len(self.sent[number]) % 251]) * size
            if not self.streams[number]._fin:
                self.sent[number] += data
                self.streams[number].write(data)

    @rule(which=st.integers(0, 3))
    def finishes(self, which: int) -> None:
        if which < len(self.streams):
            list(self.streams.values())[which].finish()

    @rule(which=st.integers(0, 3), share=st.integers(1, 4))
    def reads(self, which: int, share: int) -> None:
        takers = list(self.server.taken.items())
        if which < len(takers):
            number, taker = takers[which]
            count = (len(taker.data) - self.credited.get(number, 0)) // share
            if count and taker.stream:
                self.credited[number] = self.credited.get(number, 0) + count
                taker.stream.credit(count)

    @rule(stop=st.booleans())
    def the_connection_fills_or_drains(self, stop: bool) -> None:
        if stop:
            self.client.session.pause()
        else:
            self.client.session.resume()

    @rule()
    def carries(self) -> None:
        carry(self.client, self.server)

    @invariant()
    def in_order_and_within_the_window(self) -> None:
        for number, taker in self.server.taken.items():
            assert self.sent[number].startswith(taker.data)
            assert len(taker.data) - self.credited.get(number, 0) <= WINDOW

    def teardown(self) -> None:
        self.client.session.resume()
        for _ in range(200):
            carry(self.client, self.server)
            for number, taker in self.server.taken.items():
                if taker.stream:
                    taker.stream.credit(len(taker.data) - self.credited.get(number, 0))
                    self.credited[number] = len(taker.data)
            if not self.client.out and not self.server.out:
                break
        for number, taker in self.server.taken.items():
            assert bytes(taker.data) == bytes(self.sent[number])


Conversation.TestCase.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
TestConversation = Conversation.TestCase


class Forgiving(End):
    """A side that remembers what its handlers raised, and whose first stream has a broken one."""

    def __init__(self) -> None:
        super().__init__(client=False)
        self.failures: list[Exception] = []

    def failed(self, error: Exception) -> None:
        self.failures.append(error)

    def opened(self, stream: Stream, kind: int) -> Taker:
        taker = self.taken[stream.id] = Broken(stream) if stream.id == 1 else Taker(stream)
        return taker


class Broken(Taker):
    def received(self, data: Bytes) -> None:
        raise KeyError("a mistake of the handler")


def test_a_handler_that_raises_ends_its_own_stream_and_no_other() -> None:
    client, server = End(client=True), Forgiving()
    (bad, mine), (good, _) = client.open(), client.open()
    bad.write(b"x")
    good.write(b"goes on")
    carry(client, server)
    assert [type(failure) for failure in server.failures] == [KeyError]
    assert bytes(server.taken[good.id].data) == b"goes on"
    assert (mine.lost_with, bad.id in server.session.streams) == (Code.INTERNAL, False)


UNPROVEN = Limits(inbound=16, frames=8)


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        (b"\0\0\0\x90\0\0\0\0", "unknown type 9"),
        (rst_frame(77, 1), "stream 77, never opened"),
        (wndinc_frame(2, 1), "stream 2, never opened"),
        (data_header(1, 0, SYN) + data_header(1, 0) * 8, "more than 8 frames before authentication"),
    ],
    ids=["unknown type", "reset", "window", "many"],
)
def test_a_peer_that_is_not_authenticated_sends_few_frames_and_only_known_ones(frames: bytes, words: str) -> None:
    end = End(client=False, limits=UNPROVEN)
    with pytest.raises(ProtocolError, match=words):
        end.session.feed(frames)


def test_a_peer_that_is_authenticated_may_send_frames_that_mean_nothing() -> None:
    end = End(client=False, limits=UNPROVEN)
    end.session.limits = Limits()
    assert end.session.feed(b"\0\0\0\x90\0\0\0\0" * 20 + rst_frame(77, 1) + wndinc_frame(2, 1))
    assert end.session.overhead == 22


def test_a_session_stops_between_frames_when_its_owner_has_enough_and_goes_on_where_it_stopped() -> None:
    end = End(client=False)
    body = HEARTBEAT.to_bytes(4, "big")
    sent = data_header(1, 4, SYN) + body + b"".join(data_header(1, 1) + bytes([n]) for n in range(100))
    calls = 1
    done = end.session.feed(sent, lambda: True)
    while not done:
        calls += 1
        done = end.session.feed(b"", lambda: True)
    assert calls == 7  # of 101 frames, 16 at a time
    echoed = b"".join(end.out)
    assert echoed == b"".join(data_header(1, 1) + bytes([n]) for n in range(100))


def test_a_second_farewell_costs_nothing() -> None:
    end = End(client=False)
    end.session.feed(goaway_frame(0, 0, b"first") + goaway_frame(0, 3, b"second"))
    assert end.gone == (0, b"first")
