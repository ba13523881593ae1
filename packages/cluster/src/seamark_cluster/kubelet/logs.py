"""Container logs: stored line by line with time and stream, as container runtimes do, and read back.

A line on disk is `2026-08-01T10:00:00.123456789Z stdout F text`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from seamark_runtime.clock import Clock, micro_timestamp

POLL = 0.1
LONGEST = 16384  # a longer line is split


class LogWriter:
    """One container's log. A line is on disk as soon as it is complete; an incomplete one when the stream ends."""

    def __init__(self, path: Path, clock: Clock) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("ab", buffering=0)
        self._clock = clock
        self._rest: dict[str, bytes] = {}

    def write(self, stream: str, data: bytes) -> None:
        *whole, rest = (self._rest.get(stream, b"") + data).split(b"\n")
        self._put(stream, whole)
        while len(rest) > LONGEST:
            self._put(stream, [rest[:LONGEST]], b"P")
            rest = rest[LONGEST:]
        self._rest[stream] = rest

    def end(self, stream: str) -> None:
        if rest := self._rest.pop(stream, b""):
            self._put(stream, [rest])

    def close(self) -> None:
        for stream in list(self._rest):
            self.end(stream)
        self._file.close()

    def _put(self, stream: str, lines: Iterable[bytes], tag: bytes = b"F") -> None:
        head = f"{micro_timestamp(self._clock.wall())} {stream} ".encode() + tag + b" "
        if text := b"".join(head + line + b"\n" for line in lines):
            self._file.write(text)


@dataclass(frozen=True)
class LogQuery:
    """The options of a log request."""

    follow: bool = False
    timestamps: bool = False
    tail: int | None = None
    since: datetime | None = None
    limit: int | None = None

    @classmethod
    def parse(cls, query: dict[str, str], now: datetime) -> LogQuery:
        since = None
        if seconds := query.get("sinceSeconds"):
            since = now - timedelta(seconds=int(seconds))
        elif time := query.get("sinceTime"):
            since = datetime.fromisoformat(time).astimezone(UTC)
        return cls(
            follow=query.get("follow") == "true",
            timestamps=query.get("timestamps") == "true",
            tail=int(query["tailLines"]) if query.get("tailLines") else None,
            since=since,
            limit=int(query["limitBytes"]) if query.get("limitBytes") else None,
        )


def render(lines: Iterable[bytes], query: LogQuery) -> bytes:
    """Lines from disk in the requested format."""
    shown = bytearray()
    for line in lines:
        time, _, rest = line.partition(b" ")
        _stream, _, rest = rest.partition(b" ")
        tag, _, text = rest.partition(b" ")
        if query.since is not None and datetime.fromisoformat(time.decode()) < query.since:
            continue
        shown += (time + b" " if query.timestamps else b"") + text + (b"" if tag == b"P" else b"\n")
    return bytes(shown)


async def read(path: Path, query: LogQuery, running: asyncio.Event | None = None) -> AsyncIterator[bytes]:
    """The log from its requested beginning; with `follow` until the container has ended (`running` is set then)."""
    left = query.limit if query.limit is not None else float("inf")
    with path.open("rb") as file:
        lines = file.read().splitlines()
        chosen = lines if query.tail is None else lines[len(lines) - min(query.tail, len(lines)) :]
        piece, rest = render(chosen, query), b""
        while True:
            if piece:
                yield piece[: int(min(left, len(piece)))]
                left -= len(piece)
            if left <= 0 or not query.follow:
                return
            ended = running is None or running.is_set()
            *whole, rest = (rest + file.read()).split(b"\n")
            piece = render(whole, query)
            if not piece and ended:
                return
            if not piece:
                await asyncio.sleep(POLL)
