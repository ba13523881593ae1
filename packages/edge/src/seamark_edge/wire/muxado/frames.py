"""The frame layer: an 8-byte header (24-bit length, 4-bit type, 4-bit flags, 32-bit stream id, big-endian), a body.

- `FrameReader` takes bytes cut anywhere. DATA bodies are handed on as they arrive, never gathered, so a frame that
  announces 16 MB costs no memory; the small control frames are gathered up to their limit.
- Whatever breaks the format raises `ProtocolError` with the code that belongs into the GOAWAY.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

WINDOW = 0x40000
MAX_LENGTH = 0xFFFFFF
MAX_STREAM = 0x7FFFFFFF
MAX_GOAWAY = 16 * 1024

RST, DATA, WNDINC, GOAWAY = 0, 1, 2, 3
FIN, SYN = 1, 2

_HEADER = struct.Struct(">II")
_CONTROL = struct.Struct(">III")
_GOAWAY = struct.Struct(">IIII")

Bytes = bytes | bytearray | memoryview


class Code(IntEnum):
    """Why a stream or a session ended, as it goes on the wire."""

    NO_ERROR = 0
    PROTOCOL = 1
    INTERNAL = 2
    FLOW_CONTROL = 3
    STREAM_CLOSED = 4
    STREAM_REFUSED = 5
    STREAM_CANCELLED = 6
    STREAM_RESET = 7
    FRAME_SIZE = 8
    ACCEPT_QUEUE_FULL = 9
    ENHANCE_YOUR_CALM = 10
    REMOTE_GONE_AWAY = 11
    STREAMS_EXHAUSTED = 12
    WRITE_TIMEOUT = 13
    SESSION_CLOSED = 14
    PEER_EOF = 15


class ProtocolError(Exception):
    """The peer broke the rules; the session can't go on."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code


class Frame(NamedTuple):
    """A frame, or a piece of a DATA frame: `flags` carries FIN only with the last piece and SYN only with the first."""

    type: int
    flags: int
    stream: int
    body: bytes


def data_header(stream: int, length: int, flags: int = 0) -> bytes:
    return _HEADER.pack(length << 8 | DATA << 4 | flags, stream)


def rst_frame(stream: int, code: int) -> bytes:
    return _CONTROL.pack(4 << 8 | RST << 4, stream, code)


def wndinc_frame(stream: int, increment: int) -> bytes:
    return _CONTROL.pack(4 << 8 | WNDINC << 4, stream, increment)


def goaway_frame(last_stream: int, code: int, debug: bytes = b"") -> bytes:
    debug = debug[:1024]
    return _GOAWAY.pack((8 + len(debug)) << 8 | GOAWAY << 4, 0, last_stream, code) + debug


def u32(body: Bytes, offset: int = 0) -> int:
    return int.from_bytes(body[offset : offset + 4], "big")


class FrameReader:
    """Cuts a byte stream into frames.

    - `feed` yields what the bytes complete; a DATA body is yielded in pieces, in order, without waiting for its end.
      A frame of an unknown type is yielded without its body, which is skipped.
    - At most one control frame (16 KiB) or one header is held between calls, and what is behind `stop`.
    - After a `ProtocolError` the reader is not to be fed again.
    """

    __slots__ = ("_flags", "_held", "_left", "_stream", "_type", "stopped")

    def __init__(self) -> None:
        self._held = b""
        self._type = -1  # the frame whose body is arriving; -1 between frames
        self._flags = 0
        self._stream = 0
        self._left = 0
        self.stopped = False  # what came behind the last frame is held; the next `feed` goes on with it

    def stop(self) -> None:
        """Yields no further frames of the current input."""
        self.stopped = True

    def feed(self, data: Bytes) -> Iterator[Frame]:
        """Frames and pieces; nothing of `data` is kept by reference, so the caller may use its buffer again."""
        self.stopped = False
        if self._held:
            data = self._held + bytes(data)
            self._held = b""
        view = memoryview(data)
        at, end = 0, len(data)
        while not self.stopped:
            if self._type < 0:
                if end - at < 8:
                    break
                self._open(view, at)
                at += 8
                if self._type > GOAWAY:
                    yield Frame(self._type, self._flags, self._stream, b"")
            have = min(self._left, end - at)
            if self._type == DATA:
                if not have and self._left:
                    return
                yield self._piece(view, at, have)
            elif have < self._left:
                if self._type <= GOAWAY:
                    break
                self._left -= have  # an unknown type: skipped, whatever its length
                return
            else:
                kind, self._type = self._type, -1
                if kind <= GOAWAY:
                    yield Frame(kind, self._flags, self._stream, bytes(view[at : at + have]))
            at += have
        self._held = bytes(view[at:])

    def _open(self, data: memoryview, at: int) -> None:
        head, stream = _HEADER.unpack_from(data, at)
        length, kind, flags = head >> 8, head >> 4 & 0xF, head & 0xF
        if stream > MAX_STREAM:
            raise ProtocolError(Code.PROTOCOL, f"stream id {stream:#x} has its top bit set")
        if kind in (RST, WNDINC) and length != 4:
            raise ProtocolError(Code.FRAME_SIZE, f"frame of type {kind} with length {length}: 4 is the only valid one")
        if kind == GOAWAY and not 8 <= length <= MAX_GOAWAY:
            raise ProtocolError(Code.FRAME_SIZE, f"GOAWAY with length {length}: valid are 8 to {MAX_GOAWAY}")
        if (stream == 0) != (kind == GOAWAY) and kind <= GOAWAY:
            raise ProtocolError(Code.PROTOCOL, f"frame of type {kind} on stream {stream}")
        self._type, self._flags, self._stream, self._left = kind, flags, stream, length

    def _piece(self, view: memoryview, at: int, have: int) -> Frame:
        self._left -= have
        flags = self._flags
        if self._left:
            flags &= ~FIN
            self._flags &= ~SYN
        else:
            self._type = -1
        return Frame(DATA, flags, self._stream, bytes(view[at : at + have]))
