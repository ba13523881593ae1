"""The frame layer: whatever the cut, the same frames; whatever the bytes, an answer within bounds."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_edge.wire.muxado import FrameReader, ProtocolError, data_header, goaway_frame, rst_frame, wndinc_frame
from seamark_edge.wire.muxado.frames import DATA, FIN, GOAWAY, MAX_GOAWAY, RST, SYN, WNDINC

streams = st.integers(1, 0x7FFFFFFF)
bodies = st.binary(max_size=300)


@st.composite
def wire_frames(draw: st.DrawFn) -> tuple[bytes, tuple[int, int, int, bytes]]:
    kind = draw(st.sampled_from([RST, DATA, WNDINC, GOAWAY]))
    stream = draw(streams)
    if kind == DATA:
        body, flags = draw(bodies), draw(st.sampled_from([0, FIN, SYN, FIN | SYN]))
        return data_header(stream, len(body), flags) + body, (DATA, flags, stream, body)
    number = draw(st.integers(0, 0xFFFFFFFF))
    if kind == RST:
        return rst_frame(stream, number), (RST, 0, stream, number.to_bytes(4, "big"))
    if kind == WNDINC:
        return wndinc_frame(stream, number), (WNDINC, 0, stream, number.to_bytes(4, "big"))
    debug = draw(bodies)
    return goaway_frame(stream, 1, debug), (GOAWAY, 0, 0, stream.to_bytes(4, "big") + b"\0\0\0\1" + debug)


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces: list[bytes] = []
    at = 0
    while at < len(data):
        size = sizes[len(pieces) % len(sizes)] if sizes else len(data)
        pieces.append(data[at : at + size])
        at += size
    return pieces


def gathered(reader: FrameReader, pieces: list[bytes]) -> list[tuple[int, int, int, bytes]]:
    """Frames as they were sent: the pieces of a DATA frame put together again."""
    out: list[tuple[int, int, int, bytes]] = []
    for piece in pieces:
        for kind, flags, stream, body in reader.feed(piece):
            out.append((kind, flags, stream, bytes(body)))
    return out


@given(st.lists(wire_frames(), max_size=8), st.lists(st.integers(1, 40), max_size=5))
def test_frames_come_out_the_same_however_the_bytes_are_cut(
    sent: list[tuple[bytes, tuple[int, int, int, bytes]]], sizes: list[int]
) -> None:
    data = b"".join(raw for raw, _ in sent)
    whole = gathered(FrameReader(), [data] if data else [])
    assert whole == [frame for _, frame in sent]
    bytes_of: dict[int, bytes] = {}
    for kind, _, stream, body in gathered(FrameReader(), cut(data, sizes)):
        if kind == DATA:
            bytes_of[stream] = bytes_of.get(stream, b"") + body
    for stream, body in bytes_of.items():
        assert body == b"".join(b for k, _, s, b in whole if k == DATA and s == stream)


@given(st.lists(st.binary(max_size=100), max_size=20))
def test_any_bytes_give_frames_or_a_protocol_error(pieces: list[bytes]) -> None:
    reader = FrameReader()
    with suppress(ProtocolError):
        for piece in pieces:
            list(reader.feed(piece))


def test_a_fin_comes_with_the_last_piece_and_a_syn_with_the_first() -> None:
    data = data_header(2, 4, FIN | SYN) + b"abcd"
    pieces = gathered(FrameReader(), [data[:10], data[10:11], data[11:]])
    assert pieces == [(DATA, SYN, 2, b"ab"), (DATA, 0, 2, b"c"), (DATA, FIN, 2, b"d")]


def test_an_unknown_frame_type_is_told_and_its_body_skipped_however_long() -> None:
    head = (100 << 8 | 0x70).to_bytes(4, "big") + (3).to_bytes(4, "big")
    reader = FrameReader()
    assert gathered(reader, [head + b"x" * 60, b"x" * 40 + rst_frame(2, 5)]) == [
        (7, 0, 3, b""),
        (RST, 0, 2, b"\0\0\0\5"),
    ]


def test_a_reader_that_is_stopped_keeps_what_follows_for_the_next_call() -> None:
    reader = FrameReader()
    taken = []
    for frame in reader.feed(rst_frame(2, 1) + rst_frame(4, 2) + rst_frame(6, 3)[:7]):
        taken.append(frame.stream)
        reader.stop()
    assert (taken, reader.stopped) == ([2], True)
    assert [frame.stream for frame in reader.feed(b"")] == [4]
    assert [frame.stream for frame in reader.feed(rst_frame(6, 3)[7:])] == [6]
    assert not reader.stopped


@pytest.mark.parametrize(
    "raw",
    [
        (5 << 8 | RST << 4).to_bytes(4, "big") + (2).to_bytes(4, "big"),
        (3 << 8 | WNDINC << 4).to_bytes(4, "big") + (2).to_bytes(4, "big"),
        ((MAX_GOAWAY + 1) << 8 | GOAWAY << 4).to_bytes(4, "big") + (0).to_bytes(4, "big"),
        data_header(0, 0),
        data_header(1 << 31, 0),
        (8 << 8 | GOAWAY << 4).to_bytes(4, "big") + (2).to_bytes(4, "big"),
    ],
    ids=["rst size", "wndinc size", "goaway size", "data on zero", "top bit", "goaway on a stream"],
)
def test_a_malformed_header_is_refused_before_its_body_arrives(raw: bytes) -> None:
    with pytest.raises(ProtocolError):
        list(FrameReader().feed(raw))
