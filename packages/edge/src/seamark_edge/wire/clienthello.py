"""The name a TLS client asks for, read from its first record without touching the handshake.

`server_name` looks at what has arrived so far. It answers how many bytes it wants to see, or the name ("" if the
client names none), or raises `NotTls`.
"""

from __future__ import annotations

MAX_HELLO = 16 * 1024 + 5


class NotTls(Exception):
    """These bytes are no TLS ClientHello that this parser reads."""


class _Cursor:
    """Reads big-endian lengths and the blocks behind them, inside its bounds."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def take(self, size: int) -> bytes:
        if self.at + size > len(self.data):
            raise NotTls("ClientHello shorter than its own lengths")
        self.at += size
        return self.data[self.at - size : self.at]

    def block(self, size: int) -> bytes:
        return self.take(self.number(size))

    @property
    def more(self) -> bool:
        return self.at < len(self.data)


def server_name(data: bytes) -> int | str:
    """The SNI host in lower case, or the number of bytes that are needed to tell."""
    if data and data[0] != 0x16:
        raise NotTls("first record is no handshake")
    if len(data) < 9:
        return 9
    length = int.from_bytes(data[3:5], "big")
    if data[1] != 3 or data[5] != 1 or not 4 <= length <= MAX_HELLO - 5:
        raise NotTls("first handshake message is no ClientHello")
    if int.from_bytes(data[6:9], "big") + 4 > length:
        raise NotTls("ClientHello spread over several records")
    if len(data) < 5 + length:
        return 5 + length
    return _name(_Cursor(data[9 : 5 + length]))


def _name(hello: _Cursor) -> str:
    hello.take(2 + 32)
    hello.block(1)
    hello.block(2)
    hello.block(1)
    if not hello.more:
        return ""
    extensions = _Cursor(hello.block(2))
    while extensions.more:
        kind, body = extensions.number(2), extensions.block(2)
        if kind == 0:
            names = _Cursor(_Cursor(body).block(2))
            while names.more:
                sort, name = names.number(1), names.block(2)
                if sort == 0:
                    return _host(name)
    return ""


def _host(name: bytes) -> str:
    try:
        text = name.decode("ascii").lower()
    except UnicodeDecodeError as error:
        raise NotTls("server name that is not ASCII") from error
    if not 0 < len(text) <= 253 or not all(c.isalnum() or c in "-._" for c in text):
        raise NotTls("server name that is no host name")
    return text
