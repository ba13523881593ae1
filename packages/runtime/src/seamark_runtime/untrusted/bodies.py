"""Bodies of HTTP messages from a remote party: read whole, and never more than a limit.

A single `read(n)` of a stream returns what has arrived so far: a part of the body that looks like all of it. Every
response of a remote party is read here.

- `read_body` returns the whole body or raises `Malformed`, which names the limit.
- `JsonArray` cuts an array into its items while it arrives: work per piece is bounded, however long the array is.
- Deadlines are the caller's: the whole of it belongs into one `asyncio.timeout` (or aiohttp's `total`).
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

from seamark_runtime.untrusted.decoding import Malformed

_SPACE = b" \t\r\n"


async def bounded(chunks: AsyncIterable[bytes], limit: int) -> AsyncIterator[bytes]:
    """The chunks of a body, as long as they are at most `limit` bytes together."""
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > limit:
            raise Malformed(f"the body has more than {limit} bytes, which is the limit")
        yield chunk


async def read_body(chunks: AsyncIterable[bytes], limit: int) -> bytes:
    """The whole body: `await read_body(response.content.iter_any(), limit)`."""
    return b"".join([chunk async for chunk in bounded(chunks, limit)])


class JsonArray:
    """Cuts a JSON array into its items. Linear, without recursion, in the order of arrival.

    - `feed` returns the items that are complete, each as its bytes: whether an item is valid JSON is for its decoder.
    - `end` raises `Malformed` if the array is not complete. `null` counts as an empty array, as programs in Go write
      one. An empty body does not: a truncated response is not an empty list.
    """

    def __init__(self, longest_item: int) -> None:
        self._longest = longest_item
        self._item = bytearray()  # what has arrived of the current item; before the array begins, what is in front
        self._depth = 0  # maps and lists that are open; the array itself is the first
        self._in_string = False
        self._escaped = False  # the string's last character is a backslash that escapes the next one
        self._items = 0
        self._ended = False

    def feed(self, chunk: bytes) -> list[bytes]:
        found: list[bytes] = []
        for number, part in enumerate(chunk.split(b'"')):
            if number:
                self._quote()
            if self._in_string:
                self._inside(part)
            else:
                self._outside(part, found)
            if len(self._item) > self._longest:
                raise Malformed(f"item {self._items} has more than {self._longest} bytes, which is the limit")
        return found

    def end(self) -> None:
        if not self._ended and (self._depth or bytes(self._item.strip(_SPACE)) != b"null"):
            raise Malformed("not a whole JSON array")

    def _quote(self) -> None:
        self._append(b'"')
        if self._in_string and self._escaped:
            self._escaped = False
        else:
            self._in_string = not self._in_string

    def _inside(self, part: bytes) -> None:
        if part:
            slashes = len(part) - len(part.rstrip(b"\\"))
            carried = self._escaped and slashes == len(part)
            self._escaped = (slashes + carried) % 2 == 1
            self._item += part

    def _outside(self, part: bytes, found: list[bytes]) -> None:
        start = 0  # what is before this has been taken
        for at, byte in enumerate(part):
            if byte in b"{[":
                self._depth += 1
                if self._depth == 1:
                    self._begin(part[start : at + 1])
                    start = at + 1
            elif byte in b"}]":
                self._depth -= 1
                if self._depth == 0:
                    self._append(part[start:at])
                    self._close(byte, found)
                    start = at + 1
            elif byte == 0x2C and self._depth == 1:
                self._append(part[start:at])
                self._take(found)
                start = at + 1
        self._append(part[start:])

    def _begin(self, head: bytes) -> None:
        if self._ended or (self._item + head).strip(_SPACE) != b"[":
            raise Malformed("not a JSON array")
        self._item.clear()

    def _close(self, byte: int, found: list[bytes]) -> None:
        if byte != 0x5D:
            raise Malformed("not a JSON array")
        if self._items or self._item.strip(_SPACE):
            self._take(found)
        self._ended = True

    def _take(self, found: list[bytes]) -> None:
        item = bytes(self._item.strip(_SPACE))
        if not item:
            raise Malformed(f"item {self._items} of the array is empty")
        found.append(item)
        self._items += 1
        self._item.clear()

    def _append(self, part: bytes) -> None:
        if self._ended and part.strip(_SPACE):
            raise Malformed("there is more after the JSON array")
        self._item += part if not self._ended else b""
