"""Where a JSON object ends that arrives in pieces and without a length.

Each byte is looked at once, by the C functions of `bytes`: the time is linear in what arrived, whatever the pieces are.
"""

from __future__ import annotations

from itertools import accumulate

_STRUCTURE = b'{}[]"'
_OTHER = bytes(set(range(256)) - set(_STRUCTURE))
_STEP = [1 if byte in b"{[" else -1 for byte in range(256)]


class TooDeep(ValueError):
    """More maps and lists inside of each other than are allowed."""


class ObjectEnd:
    """Follows the nesting of a JSON text.

    - `feed` returns True for the piece in which the nesting is closed again. What comes behind is not looked at.
    - It does not check that the text is valid JSON: the decoder does.
    """

    __slots__ = ("_depth", "_most", "_pending", "_quoted")

    def __init__(self, most: int) -> None:
        self._most = most
        self._depth = 0  # maps and lists that are open
        self._quoted = False  # inside of a string
        self._pending = b""  # a backslash whose character has not arrived

    def feed(self, piece: bytes) -> bool:
        depths = list(accumulate(map(_STEP.__getitem__, self._outside_strings(piece)), initial=self._depth))
        if len(depths) == 1:
            return False
        self._depth = depths[-1]
        closed = min(depths[1:]) <= 0
        if max(depths) > self._most and not closed:
            raise TooDeep(f"more than {self._most} levels of nested maps and lists")
        return closed

    def _outside_strings(self, piece: bytes) -> bytes:
        text = self._pending + piece
        self._pending = b""
        if b"\\" in text:
            text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
            if text.endswith(b"\\"):
                self._pending = b"\\"
        parts = text.translate(None, _OTHER).split(b'"')
        outside = b"".join(parts[1::2] if self._quoted else parts[::2])
        self._quoted ^= len(parts) % 2 == 0
        return outside
