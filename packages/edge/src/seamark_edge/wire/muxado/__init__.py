"""muxado: many streams over one connection. Bytes in, calls and bytes out; no sockets, no clock, no asyncio."""

from seamark_edge.wire.muxado.frames import (
    WINDOW,
    Code,
    Frame,
    FrameReader,
    ProtocolError,
    data_header,
    goaway_frame,
    rst_frame,
    wndinc_frame,
)
from seamark_edge.wire.muxado.session import Session, SessionClosed
from seamark_edge.wire.muxado.stream import Handler, Limits, Owner, Stream

__all__ = [
    "WINDOW",
    "Code",
    "Frame",
    "FrameReader",
    "Handler",
    "Limits",
    "Owner",
    "ProtocolError",
    "Session",
    "SessionClosed",
    "Stream",
    "data_header",
    "goaway_frame",
    "rst_frame",
    "wndinc_frame",
]
