"""Watch: a stream of changes that can be resumed at any revision that is still in the history."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from seamark_cluster.embedded.calls import Call
from seamark_cluster.embedded.machinery.errors import ApiError, Json, bad_request, expired, too_large_version
from seamark_cluster.embedded.machinery.kinds import Kind
from seamark_cluster.embedded.machinery.revisions import Event, Revisions, encode
from seamark_cluster.embedded.machinery.selectors import Predicate
from seamark_cluster.embedded.reads import check_list_options, predicate_of, scoped_keys

INITIAL_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class Pace:
    """The interval of bookmarks, and the lifetime of a stream (in seconds)."""

    bookmark: float = 60.0
    lifetime: float = 3600.0


class Watch:
    """One open watch.

    - Lines are queued as changes happen and leave through `lines`, in order, each exactly once.
    - A stream that requested bookmarks gets one every `bookmark` seconds; every stream ends after its lifetime.
    - `close` ends it like a broken connection: queued lines are lost.
    """

    status = 200

    def __init__(self, kind: Kind, revisions: Revisions, pace: Pace, *, bookmarks: bool) -> None:
        self._kind = kind
        self._revisions = revisions
        self._pace = pace
        self._bookmarks = bookmarks
        self._queue: deque[bytes] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False
        self.unsubscribe: Callable[[], None] = _nothing

    @property
    def open(self) -> bool:
        return not self._ended

    def push(self, line: bytes) -> None:
        if not self._ended:
            self._queue.append(line)
            self._notify()

    def finish(self) -> None:
        """No further lines after those queued."""
        self._ended = True
        self.unsubscribe()
        self._notify()

    def close(self) -> None:
        self._queue.clear()
        self.finish()

    def _notify(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def pending(self) -> list[bytes]:
        """Takes the queued lines: for callers without an event loop."""
        lines = list(self._queue)
        self._queue.clear()
        return lines

    async def lines(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        ends = loop.time() + self._pace.lifetime
        due = loop.time() + self._pace.bookmark
        try:
            while True:
                while self._queue:
                    yield self._queue.popleft()
                if self._ended:
                    return
                await self._sleep(loop, min(ends, due) if self._bookmarks else ends)
                if self._queue or self._ended:
                    continue
                if loop.time() >= ends:
                    return
                if self._bookmarks and loop.time() >= due:
                    due = loop.time() + self._pace.bookmark
                    self._queue.append(self.bookmark(self._revisions.current))
        finally:
            self.finish()

    async def _sleep(self, loop: asyncio.AbstractEventLoop, until: float) -> None:
        self._waiter = loop.create_future()
        timer = loop.call_at(until, self._notify)
        try:
            await self._waiter
        finally:
            timer.cancel()
            self._waiter = None

    def bookmark(self, revision: int, *, initial_end: bool = False) -> bytes:
        obj = self._kind.empty()
        obj["metadata"] = {"resourceVersion": str(revision)}
        if initial_end:
            obj["metadata"]["annotations"] = {INITIAL_END: "true"}
        return line("BOOKMARK", obj)


def _nothing() -> None:
    pass


def line(kind: str, obj: Json) -> bytes:
    return encode({"type": kind, "object": obj}) + b"\n"


class Watching:
    """Opens watches, and can drop them all."""

    def __init__(self, revisions: Revisions, pace: Pace) -> None:
        self._revisions = revisions
        self._pace = pace
        self._open: list[Watch] = []

    def drop_all(self) -> None:
        watches, self._open = self._open, []
        for watch in watches:
            watch.close()

    def drop(self, keep: Callable[[Watch], bool]) -> None:
        for watch in [item for item in self._open if not keep(item)]:
            watch.close()

    def watch(self, call: Call) -> Watch:
        check_list_options(call)
        matches = predicate_of(call)
        if call.name:
            matches = _named(call.name, matches)
        version = call.option("resourceVersion") or ""
        if version and not version.isdigit():
            raise bad_request(f'Invalid value: "{version}": strconv.ParseUint: parsing "{version}": invalid syntax')
        bookmarks = call.option("allowWatchBookmarks") in ("true", "1")
        watch = Watch(call.kind, self._revisions, self._paced(call), bookmarks=bookmarks)
        feed = _Feed(watch, call, matches)
        try:
            self._begin(call, feed, int(version or 0))
        except ApiError as error:
            watch.push(line("ERROR", error.document()))
            watch.finish()
            return watch
        watch.unsubscribe = self._revisions.subscribe(call.kind.storage, feed.push_event)
        self._open = [item for item in self._open if item.open]
        self._open.append(watch)
        return watch

    def _paced(self, call: Call) -> Pace:
        seconds = call.option("timeoutSeconds")
        return Pace(self._pace.bookmark, float(seconds)) if seconds and float(seconds) else self._pace

    def _begin(self, call: Call, feed: _Feed, version: int) -> None:
        """The first lines of a new stream: the state, or the changes since a revision."""
        current = self._revisions.current
        initial = call.option("sendInitialEvents")
        if version > current:
            raise too_large_version(version, current)
        if initial in ("true", "1") or (initial is None and version == 0):
            table = self._revisions.table(call.kind.storage)
            for key in scoped_keys(table, call.namespace):
                feed.first(table.objects[key])
            if initial is not None and call.option("allowWatchBookmarks") in ("true", "1"):
                feed.watch.push(feed.watch.bookmark(current, initial_end=True))
        elif version:
            if version < self._revisions.compacted:
                raise expired(f"too old resource version: {version} ({self._revisions.compacted})")
            for event in self._revisions.since(call.kind.storage, version):
                feed.push_event(event)


def _named(name: str, matches: Predicate | None) -> Predicate:
    def check(obj: Json) -> bool:
        return obj["metadata"]["name"] == name and (matches is None or matches(obj))

    return check


class _Feed:
    """Turns changes into the lines of one watch: its namespace, its selector, its version."""

    __slots__ = ("_kind", "_matches", "_namespace", "watch")

    def __init__(self, watch: Watch, call: Call, matches: Predicate | None) -> None:
        self.watch = watch
        self._kind = call.kind
        self._namespace = call.namespace
        self._matches = matches

    def first(self, stored: Json) -> None:
        obj = self._kind.serve(stored)
        if self._matches is None or self._matches(obj):
            self.watch.push(line("ADDED", obj))

    def push_event(self, event: Event) -> None:
        if self._namespace and event.key[0] != self._namespace:
            return
        matches, serve = self._matches, self._kind.serve
        was = event.old is not None and (matches is None or matches(serve(event.old)))
        now = event.new is not None and (matches is None or matches(serve(event.new)))
        if now:
            self.watch.push(self._line("MODIFIED" if was else "ADDED", event))
        elif was:
            self.watch.push(self._line("DELETED", event))

    def _line(self, kind: str, event: Event) -> bytes:
        """A line is the same for every watch of a version, so it is encoded once."""
        line_key = (kind, id(self._kind))
        known = event.lines.get(line_key)
        if known is None:
            if kind == "DELETED":
                # An object that no longer matches is sent in its old state, at the revision of the change.
                obj = self._kind.serve(event.gone())
            else:
                assert event.new is not None
                obj = self._kind.serve(event.new)
            known = event.lines[line_key] = line(kind, obj)
        return known
