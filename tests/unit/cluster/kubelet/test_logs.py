"""Logs: written line by line, read with the options of a request."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

from seamark_cluster.kubelet.logs import LogQuery, LogWriter, read


class Ticking:
    """A clock that advances by a second with each reading."""

    def __init__(self) -> None:
        self.now = datetime(2026, 8, 1, 10, 0, 0, tzinfo=UTC)

    def monotonic(self) -> float:
        return 0.0

    def wall(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def written(path: Path) -> Path:
    log = LogWriter(path, Ticking())
    log.write("stdout", b"one\ntw")
    log.write("stderr", b"oops\n")
    log.write("stdout", b"o\nlast")
    log.close()
    return path


def shown(path: Path, **query: str) -> str:
    async def collect() -> bytes:
        asked = LogQuery.parse(query, datetime(2026, 8, 1, 10, 0, 5, tzinfo=UTC))
        return b"".join([piece async for piece in read(path, asked)])

    return asyncio.run(collect()).decode()


def test_lines_are_put_together_from_pieces_and_streams_do_not_mix(tmp_path: Path) -> None:
    assert shown(written(tmp_path / "a/log")) == "one\noops\ntwo\nlast\n"


def test_the_tail_the_time_and_the_limit_are_as_requested(tmp_path: Path) -> None:
    path = written(tmp_path / "log")
    assert shown(path, tailLines="2") == "two\nlast\n"
    assert shown(path, tailLines="0") == ""
    assert shown(path, sinceSeconds="2") == "two\nlast\n"
    assert shown(path, sinceTime="2026-08-01T10:00:04Z") == "last\n"
    assert shown(path, limitBytes="6") == "one\noo"
    assert shown(path, timestamps="true", tailLines="1") == "2026-08-01T10:00:04.000000Z last\n"


def test_following_continues_until_the_container_has_ended(tmp_path: Path) -> None:
    async def follow() -> bytes:
        log = LogWriter(tmp_path / "log", Ticking())
        over, pieces = asyncio.Event(), b""
        log.write("stdout", b"first\n")
        async for piece in read(tmp_path / "log", LogQuery(follow=True), over):
            pieces += piece
            if pieces == b"first\n":
                log.write("stdout", b"second\n")
                log.close()
                over.set()
        return pieces

    assert asyncio.run(follow()) == b"first\nsecond\n"


def test_a_line_without_end_is_kept_in_pieces_and_shown_as_one(tmp_path: Path) -> None:
    log = LogWriter(tmp_path / "log", Ticking())
    log.write("stdout", b"x" * 40_000)
    log.write("stdout", b"\n")
    log.close()
    assert shown(tmp_path / "log") == "x" * 40_000 + "\n"
