"""The watch of one resource: a state machine that survives everything an API server does.

        ┌────────► StreamingList ──(initial events end)──┐
     start              │ not supported                  ▼
        ▲               ▼                            Following(version) ──(stream ends)──► Following(last version)
        │           PagedList ──(last page)──────────────┘ │
        └────────────── expired (410 as a status or inside the stream), or a version too large after a restore

- A sink gets, in order: `Restarted`, the initial objects as `Put`, `Synced`, then `Put`, `Removed`, `Progress`.
  What was known before a `Restarted` and is not put again by the next `Synced` is gone.
- A version is resumed from only after everything up to it was handed on, so nothing is skipped.
- A connection without a byte for `idle` seconds counts as half-open and is opened again.
- Reconnects back off with jitter. Nothing ends the watch: errors are reported to the sink.
- An object that can't be decoded within its limits is handed on as `Broken`, and so is one for which the sink raises;
  the others go on. A line or a page is read however deep its objects are nested.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Generic, TypeVar

import msgspec
import structlog

from seamark_runtime.api.meta import Key, Object, ObjectMeta, Wire
from seamark_runtime.backoff import Backoff
from seamark_runtime.client import OBJECT, Client, StatusAnswer, collection_of, failure, identity_of
from seamark_runtime.errors import Expired, Gone, Refused, Retry, SeamarkError
from seamark_runtime.failures import INDEX, described
from seamark_runtime.timeslice import TimeSlice
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError, Stream
from seamark_runtime.untrusted.decoding import Malformed, decode_envelope, decode_json
from seamark_runtime.untrusted.partialread import readable_part
from seamark_runtime.watchevents import Broken, Event, Progress, Put, Removed, Restarted, Synced, Trouble

T = TypeVar("T", bound=Object)

log = structlog.get_logger(__name__)

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
LONGEST_LINE = 2 * OBJECT.size  # bytes; no API server sends an object of this size


@dataclass(frozen=True, slots=True)
class StreamingList:
    """The initial set is requested as events of a watch."""


@dataclass(frozen=True, slots=True)
class PagedList:
    """The initial set is requested page by page: from servers without streaming lists."""


@dataclass(frozen=True, slots=True)
class Following:
    """The initial set is complete, and everything up to `version` was handed on.

    `unconfirmed`: the watch was interrupted since, and the server may have been restored to an older state.
    """

    version: str
    unconfirmed: bool = False


State = StreamingList | PagedList | Following


@dataclass(frozen=True, slots=True)
class WatchSettings:
    idle: float = 150.0  # bookmarks come about once a minute
    lifetime: float = 600.0  # asked of the server, with jitter below it
    backoff: Backoff = field(default_factory=lambda: Backoff(first=0.1, most=30.0))
    page: int = 500


class _Line(Wire, frozen=True, tag=False):
    type: str
    object: msgspec.Raw


@dataclass(slots=True)
class Watch(Generic[T]):
    client: Client
    kind: type[T]
    random: Random
    namespace: str = ""
    selectors: Mapping[str, str] = field(default_factory=dict)
    settings: WatchSettings = WatchSettings()

    state: State = field(default=StreamingList(), init=False)
    _first_state: State = field(default=StreamingList(), init=False)  # a list; paged once streaming was refused
    _attempts: int = field(default=0, init=False)  # in a row, without progress of a watch
    _last_line: float | None = field(default=None, init=False)  # when it was received
    _step_task: asyncio.Task[None] | None = field(default=None, init=False)
    _restarting: bool = field(default=False, init=False)  # `restart` has cancelled the step

    @property
    def version(self) -> str:
        """Everything up to here was handed on; empty before the initial set is complete."""
        return self.state.version if isinstance(self.state, Following) else ""

    async def run(self, sink: Callable[[Event], None]) -> None:
        while True:
            self._restarting = False
            self._step_task = asyncio.get_running_loop().create_task(self._step(sink))
            try:
                await self._step_task
            except asyncio.CancelledError:
                if not self._restarting or _being_cancelled():
                    raise
                self.state = self._first_state
            except Expired:
                self.state = self._first_state
                await asyncio.sleep(self._pause())
            except SeamarkError as error:
                await self._interrupted(error, sink)
            except Exception as error:
                log.exception("the watch failed: this is a bug in Seamark", kind=str(self.kind.RESOURCE))
                self.state = self._first_state
                await self._interrupted(Retry(described(error)), sink)

    async def _interrupted(self, error: SeamarkError, sink: Callable[[Event], None]) -> None:
        if isinstance(self.state, Following):
            self.state = Following(self.state.version, unconfirmed=True)
        self._deliver(Trouble(error, self._silent()), sink)
        await asyncio.sleep(self._pause(error))

    def restart(self) -> None:
        """Drops the connection and lists again: this watch is known to be stale."""
        if self._step_task is not None and not self._step_task.done():
            self._restarting = True
            self._step_task.cancel()

    async def _step(self, sink: Callable[[Event], None]) -> None:
        match self.state:
            case StreamingList():
                await self._stream_list(sink)
            case PagedList():
                await self._list_pages(sink)
            case Following() as following:
                await self._follow(following, sink)

    def _silent(self) -> bool:
        """No line was received for longer than the bookmarks of a healthy watch are apart."""
        return self._last_line is not None and asyncio.get_running_loop().time() - self._last_line >= self.settings.idle

    def _pause(self, error: SeamarkError | None = None) -> float:
        pause = self.settings.backoff.pause(self.random, self._attempts)
        self._attempts += 1
        retry_after = error.after if isinstance(error, Retry) and error.after is not None else 0.0
        return max(retry_after, pause)

    # ---- the initial set

    async def _stream_list(self, sink: Callable[[Event], None]) -> None:
        query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "resourceVersion": ""}
        self._deliver(Restarted(self._silent()), sink)
        try:
            async with self._open(query) as stream:
                await self._read(stream, sink)
        except Refused as error:
            if error.code not in (400, 422):
                raise
            self.state = self._first_state = PagedList()  # an older server
        if isinstance(self.state, StreamingList):  # it ended before the initial set was whole
            raise Retry(f"the streaming list of {self.kind.RESOURCE} was cut")

    async def _list_pages(self, sink: Callable[[Event], None]) -> None:
        self._deliver(Restarted(self._silent()), sink)
        query, turns = dict(self.selectors), TimeSlice()
        while True:
            page = await self.client.list_page(
                self.kind, namespace=self.namespace, query=query, limit=self.settings.page
            )
            for raw in page.items:
                await turns.turn()
                self._deliver(self._object_event("ADDED", raw), sink)
            if not page.next_page:
                break
            query["continue"] = page.next_page
            await asyncio.sleep(0)
        self._complete(page.resource_version, sink)

    def _complete(self, version: str, sink: Callable[[Event], None]) -> None:
        self._last_line = asyncio.get_running_loop().time()
        self.state = Following(version)  # `_attempts` stays: a server that expires its list at once is not flooded
        self._deliver(Synced(version), sink)

    # ---- following

    async def _follow(self, following: Following, sink: Callable[[Event], None]) -> None:
        """Resumes the watch where it was; after a long silence it lists instead.

        A watch would then deliver outdated states one after the other, each as if it were current.
        """
        if self._silent():
            self.state = self._first_state
            return
        if following.unconfirmed:
            await self._still_known(following.version)
        async with self._open({"resourceVersion": following.version}) as stream:
            if following.unconfirmed:  # the interruption is over, though there may be no event for a while
                self.state = Following(following.version)
                self._deliver(Progress(following.version), sink)
            received = await self._read(stream, sink)
        if not received:  # closed at once: by a proxy, or a server that is going down
            await asyncio.sleep(self._pause())

    async def _still_known(self, version: str) -> None:
        """After an interruption: raises Expired where the server does not know this version.

        A server that was restored from a backup sends nothing to a watch from its future, not even bookmarks, until
        it gets there; a list shows it.
        """
        query = {**self.selectors, "resourceVersion": version, "resourceVersionMatch": "NotOlderThan"}
        await self.client.list_page(self.kind, namespace=self.namespace, query=query, limit=1)

    def _open(self, query: Mapping[str, str]) -> Any:
        lifetime = int(self.settings.lifetime * (0.5 + self.random.random() / 2))
        query = {"allowWatchBookmarks": "true", "timeoutSeconds": str(lifetime), **self.selectors, **query}
        return self.client.watch(self.kind, namespace=self.namespace, query=query)

    async def _read(self, stream: Stream, sink: Callable[[Event], None]) -> bool:
        """Hands events on until the stream ends. Whether there were any."""
        loop = asyncio.get_running_loop()
        received, turns = False, TimeSlice()
        async for line in lines(stream, self.settings.idle):
            await turns.turn()
            self._handle(line, sink)
            received, self._last_line = True, loop.time()
        return received

    def _handle(self, line: bytes, sink: Callable[[Event], None]) -> None:
        try:
            event = decode_envelope(line, _Line)
        except Malformed as error:
            raise Retry(f"the watch of {self.kind.RESOURCE} sent a line that is no event: {error}") from error
        if event.type == "ERROR":
            self._error(event.object)
        elif event.type == "BOOKMARK":
            self._bookmark(event.object, sink)
        else:
            change = self._object_event(event.type, event.object)
            self._deliver(change, sink)
            if isinstance(self.state, Following):
                self._advance(change.version if isinstance(change, Broken) else change.object.metadata.resource_version)

    def _advance(self, version: str) -> None:
        self.state = Following(version)
        self._attempts = 0

    def _deliver(self, event: Event, sink: Callable[[Event], None]) -> None:
        """Hands an event on. What the sink raises concerns the object of this event alone."""
        try:
            sink(event)
        except Exception as error:
            log.exception("event not handled", kind=str(self.kind.RESOURCE), type=type(event).__name__)
            if isinstance(event, Put):
                obj = event.object
                part = obj if obj.deleting else None
                broken = Broken(obj.key, obj.uid, obj.metadata.resource_version, described(error), INDEX, part)
                self._deliver(broken, sink)

    def _bookmark(self, raw: msgspec.Raw, sink: Callable[[Event], None]) -> None:
        metadata = self._identity(raw)
        if not isinstance(self.state, Following):
            if (metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true":
                self._complete(metadata.resource_version, sink)
            return
        if number(metadata.resource_version) < number(self.state.version):
            raise Expired("the server has gone back in time: it was restored from a backup")
        self._advance(metadata.resource_version)
        self._deliver(Progress(metadata.resource_version), sink)

    def _error(self, raw: msgspec.Raw) -> None:
        try:
            code = decode_envelope(raw, StatusAnswer).code
        except Malformed:
            code = 500  # it failed, and can't say how
        request = HttpRequest("GET", collection_of(self.kind, self.namespace))
        raise failure(request, Answer(code, bytes(raw)))

    def _identity(self, raw: msgspec.Raw) -> ObjectMeta:
        try:
            return identity_of(raw)
        except Malformed as error:
            raise Retry(f"the watch of {self.kind.RESOURCE} sent an object without identity: {error}") from error

    def _object_event(self, type_: str, raw: msgspec.Raw) -> Put[T] | Removed[Any] | Broken:
        try:
            obj = decode_json(bytes(raw), self.kind, OBJECT)
        except Exception as error:  # it is Malformed, or a bug that concerns this object alone
            meta = self._identity(raw)
            if type_ == "DELETED":
                return Removed(Object(metadata=meta))  # gone is gone, readable or not
            message = str(error) if isinstance(error, Malformed) else described(error)
            part = readable_part(raw, self.kind, OBJECT) if meta.deletion_timestamp else None
            return Broken(Key(meta.namespace, meta.name), meta.uid, meta.resource_version, message, part=part)
        return Removed(obj) if type_ == "DELETED" else Put(obj)


async def lines(stream: Stream, idle: float) -> AsyncIterator[bytes]:
    """Whole lines of a body that may be cut anywhere. A cut last line is dropped: it will be sent again.

    A chunk is looked at once, however many a line has.
    """
    begun: list[bytes] = []  # the pieces of the line that is not whole yet
    length = 0
    chunks = stream.chunks()
    while True:
        try:
            async with asyncio.timeout(idle):
                chunk = await anext(chunks, None)
        except TimeoutError:
            raise Retry(f"no byte for {idle:g} s: the connection counts as half-open") from None
        except NoAnswerError as error:
            raise Retry(str(error)) from error
        if chunk is None:
            return
        first, *more = chunk.split(b"\n")
        begun.append(first)
        length += len(first)
        if more:
            for line in (b"".join(begun), *more[:-1]):
                if line:
                    yield line
            begun, length = [more[-1]], len(more[-1])
        if length > LONGEST_LINE:
            raise Retry(f"a line of the watch is longer than {LONGEST_LINE} bytes")


def number(version: str) -> int:
    """Versions of one kind are comparable numbers (guaranteed since Kubernetes 1.35, true before)."""
    return int(version) if version.isdigit() else 0


def _being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def plain(error: SeamarkError, resource: object) -> str:
    """What a person should know of a watch that can't go on."""
    match error:
        case Gone():
            return f"{resource} is not served by this cluster: install its CRD (seamark crds | kubectl apply -f -)"
        case Refused(code=403):
            return f"not allowed to follow {resource}: {error.message}"
        case _:
            return f"can't follow {resource} right now: {error.message}"
