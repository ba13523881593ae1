"""What the kernel knows of a client's connection. Asked now and then, so that the data path counts nothing for it."""

from __future__ import annotations

import asyncio
import socket
import struct
from dataclasses import dataclass

CLOSED_BY_PEER = (7, 8)  # TCP_CLOSE, TCP_CLOSE_WAIT
_INFO = struct.Struct("=B43xI4xI")  # struct tcp_info: the state, milliseconds since bytes were sent, and received


@dataclass(frozen=True, slots=True)
class TcpState:
    """`left`: the peer sends nothing more, also where its last bytes are not read yet."""

    left: bool
    idle: float  # seconds since bytes were last sent or received


GONE = TcpState(left=True, idle=float("inf"))


def tcp_state(transport: asyncio.BaseTransport | None) -> TcpState:
    """`GONE` for a connection that has ended."""
    sock = transport.get_extra_info("socket") if transport is not None else None
    if sock is None:
        return GONE
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
    except OSError:
        return GONE
    state, sent, received = _INFO.unpack(info)
    return TcpState(state in CLOSED_BY_PEER, min(sent, received) / 1000)
