"""The state as the edge uses it: reads from memory, changes in their order, and outages of the database."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, repeat

import structlog

from seamark_edge.store.database import Database, DatabaseAway, Outcome
from seamark_edge.store.mirror import Mirror
from seamark_edge.store.record import Contents, Key, Record, Row, Write
from seamark_edge.store.recovery import Known, Plan, plan
from seamark_runtime.errors import Conflict, Exists, SeamarkError

log = structlog.get_logger(__name__)

CHECK_SECONDS = 2.0
RETRY_SECONDS = (0.2, 0.5, 1.0, 2.0)  # then the last one again
MOST_TOGETHER = 1000  # changes of one write


@dataclass(frozen=True, slots=True, eq=False)
class _Change:
    key: Key
    record: Record | None
    written: asyncio.Future[None]


class Store:
    """Records by kind and id, and by kind and name.

    - Reads are from memory and never wait. A change is made in memory first, so that a check and the change that
      follows it are one step on the loop; it returns when the database has it. One that fails is undone.
    - A taken name or key raises `Exists`: at once where it is known here, otherwise by the database's constraint.
    - Changes that arrive while others are written are the next write, together.
    - While the database is away, `problem` has the reason. `put` and `remove` raise `DatabaseAway`; `keep`, for what is
      in use already, takes effect here and is written later. When it answers again, both sides are reconciled
      (`recovery`).
    """

    def __init__(self, database: Database, contents: Contents) -> None:
        self._database = database
        self._mirror = Mirror()
        self.problem = ""  # why the database can't be written; "" while it can
        self.changed_elsewhere: Callable[[list[Record], list[Key]], None] = _nothing  # what is new, and what is gone
        self._secrets = dict(contents.secrets)
        self._unwritten_secrets: set[str] = set()
        self._stored: dict[Key, Row] = {}  # what the database has, as far as it has answered
        self._last = contents.last  # the greatest version of its answers
        self._changes: deque[_Change] = deque()  # that no write has taken yet
        self._open: Counter[Key] = Counter()  # changes without an outcome; only keys that have any
        self._owed: dict[Key, Record | None] = {}  # in effect here, and to be written when the database answers
        self._doubtful: set[Key] = set()  # of changes that failed without an answer
        self._writing: asyncio.Task[None] | None = None  # while there are changes
        self._recovering: asyncio.Task[None] | None = None  # while there is a problem
        for row in contents.rows:
            self._adopt(row)

    def all(self, kind: str) -> Iterator[Record]:
        return self._mirror.all(kind)

    def get(self, kind: str, ident: str) -> Record | None:
        return self._mirror.get(kind, ident)

    def named(self, kind: str, name: str) -> Record | None:
        return self._mirror.named(kind, name)

    @property
    def version(self) -> int:
        return self._mirror.version

    @property
    def owed(self) -> int:
        """Records that are in effect here, and not in the database yet."""
        return len(self._owed)

    def require(self) -> None:
        """Raises `DatabaseAway` while the database is away: before something is begun that needs it."""
        if self.problem:
            raise DatabaseAway(self.problem)

    async def put(self, record: Record) -> Record:
        self.require()
        self._mirror.check_name(record)
        await self._change(record.key, record)
        return record

    async def remove(self, record: Record) -> None:
        self.require()
        await self._change(record.key, None)

    async def keep(self, record: Record) -> None:
        """Like `put`, for what is in use already: while the database is away it is in effect, and written later."""
        self._mirror.check_name(record)
        if not self.problem:
            with contextlib.suppress(DatabaseAway):
                await self._change(record.key, record)
                return
        self._owed[record.key] = record
        self._mirror.set(record.key, record)

    def secret(self, name: str) -> bytes | None:
        return self._secrets.get(name)

    def keep_secret(self, name: str, value: bytes) -> None:
        """At start only; `settle` writes it."""
        self._secrets[name] = value
        self._unwritten_secrets.add(name)

    async def settle(self) -> None:
        """Returns when everything that was changed before has its outcome; raises `DatabaseAway` for secrets."""
        while self._unwritten_secrets:
            name = next(iter(self._unwritten_secrets))
            await self._database.keep_secret(name, self._secrets[name])
            self._unwritten_secrets.discard(name)
        while self._writing is not None:
            await asyncio.shield(self._writing)

    async def watch(self) -> None:
        """Finds out that the database is away before a change needs it. Runs until it is cancelled."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            if not self.problem and self._writing is None:
                try:
                    # Shielded: to cut it off in the middle would cost the connection.
                    await asyncio.shield(asyncio.ensure_future(self._database.check()))
                except DatabaseAway as error:
                    self._is_away(error)

    async def close(self) -> None:
        if self._recovering is not None:
            self._recovering.cancel()
            await asyncio.gather(self._recovering, return_exceptions=True)
        try:
            await self.settle()
        except DatabaseAway as error:
            log.error("secrets of the state can't be written", reason=error.message)
        if self._owed:
            log.warning("changes are lost: the database did not answer before the end", records=len(self._owed))
        await self._database.close()

    # Changes

    async def _change(self, key: Key, record: Record | None) -> None:
        change = _Change(key, record, asyncio.get_running_loop().create_future())
        self._mirror.set(key, record)
        self._open[key] += 1
        self._changes.append(change)
        if self._writing is None:
            self._writing = asyncio.get_running_loop().create_task(self._write())
        # Shielded: a caller that went away must not leave the database behind the memory.
        await asyncio.shield(change.written)

    async def _write(self) -> None:
        try:
            while self._changes:
                changes = self._next()
                outcomes = await self._outcomes([write for change in changes if (write := self._as_write(change))])
                for change in changes:
                    self._settled(change, outcomes.get(change.key, 0))
                await self._reread([change for change in changes if isinstance(outcomes.get(change.key), TAKEN)])
                for change in changes:
                    _answer(change, outcomes.get(change.key, 0))
        finally:
            self._writing = None

    def _next(self) -> list[_Change]:
        """The oldest changes, in their order, each key once."""
        taken: dict[Key, _Change] = {}
        while self._changes and self._changes[0].key not in taken and len(taken) < MOST_TOGETHER:
            change = self._changes.popleft()
            taken[change.key] = change
        return list(taken.values())

    def _as_write(self, change: _Change) -> Write | None:
        row = self._stored.get(change.key)
        if change.record is None and row is None:
            return None
        return Write(change.key, change.record, row.version if row else None)

    async def _outcomes(self, writes: list[Write]) -> dict[Key, Outcome]:
        error = DatabaseAway(self.problem)
        if not self.problem:
            try:
                return await self._written(writes)
            except DatabaseAway as away:
                error = away
                self._is_away(away)
        return dict.fromkeys((write.key for write in writes), error)

    async def _written(self, writes: list[Write]) -> dict[Key, Outcome]:
        if not writes:
            return {}
        keys = [write.key for write in writes]
        try:
            return dict(zip(keys, await self._database.write(writes), strict=True))
        except DatabaseAway as error:
            if error.uncertain:
                self._doubtful.update(keys)
            raise

    def _settled(self, change: _Change, outcome: Outcome) -> None:
        """What memory has after this outcome; later changes of the key stay in effect."""
        key = change.key
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]
        if isinstance(outcome, int):
            self._has(key, Row(change.record, outcome) if change.record is not None else None)
        elif key not in self._open:
            row = self._stored.get(key)
            self._mirror.set(key, row.record if row else None)

    async def _reread(self, changes: Iterable[_Change]) -> None:
        """Another edge has these keys or names: what it has there is known before the callers are refused."""
        for change in changes:
            try:
                rows = await self._database.find(change.key, change.record.name if change.record else None)
            except DatabaseAway as error:
                self._is_away(error)
                return
            new = [row for row in rows if row.record.key not in self._open]
            for row in new:
                self._adopt(row)
            self.changed_elsewhere([row.record for row in new], [])

    def _adopt(self, row: Row) -> None:
        self._has(row.record.key, row)
        self._mirror.set(row.record.key, row.record)

    def _has(self, key: Key, row: Row | None) -> None:
        if row is None:
            self._stored.pop(key, None)
        else:
            self._stored[key] = row
            self._last = max(self._last, row.version)

    # Outages

    def _is_away(self, error: DatabaseAway) -> None:
        if not self.problem:
            log.error("the database is away: new reservations are refused", reason=error.message)
        self.problem = error.message
        if self._recovering is None:
            self._recovering = asyncio.get_running_loop().create_task(self._recover())

    async def _recover(self) -> None:
        for seconds in chain(RETRY_SECONDS, repeat(RETRY_SECONDS[-1])):
            await asyncio.sleep(seconds)
            try:
                await self._reconcile()
            except SeamarkError as error:
                self.problem = error.message
            except Exception as error:  # it must not end: nothing else would end the outage
                log.error("the state can't be reconciled", error=repr(error))
            else:
                break
        self._recovering = None

    async def _reconcile(self) -> None:
        while self._writing is not None:
            await asyncio.shield(self._writing)
        contents = await self._database.reopen()
        made = plan(Known(self._stored, self._last, self._owed, self._doubtful), contents)
        if made.restored:
            await self._database.resume(self._last)
        for name in self._secrets.keys() - contents.secrets.keys():
            await self._database.keep_secret(name, self._secrets[name])
        owed = dict(self._owed)
        outcomes: dict[Key, Outcome] = {}
        for start in range(0, len(made.writes), MOST_TOGETHER):
            outcomes |= await self._certain(made.writes[start : start + MOST_TOGETHER])
        if not made.writes:
            await self._database.check(writes=True)  # a full disk can be read
        self._reconciled(made, contents, outcomes)
        for key, record in owed.items():
            if self._owed.get(key) is record:
                del self._owed[key]
        self._doubtful.clear()
        if self._owed:  # came meanwhile
            await self._reconcile()
        elif self.problem:
            self.problem = ""
            log.info("the database answers again", written=len(made.writes), changed_elsewhere=len(made.adopted))

    async def _certain(self, writes: list[Write]) -> dict[Key, Outcome]:
        """Of a reconciliation: if it breaks off, the next one does not take these for changes of another edge."""
        self._doubtful.update(write.key for write in writes)
        return await self._written(writes)

    def _reconciled(self, made: Plan, contents: Contents, outcomes: dict[Key, Outcome]) -> None:
        """Memory and what is known of the database, after a reconciliation."""
        self._stored = {row.record.key: row for row in contents.rows}
        self._last = max(self._last, contents.last)
        for write in made.writes:
            outcome = outcomes[write.key]
            if isinstance(outcome, int):
                self._has(write.key, Row(write.record, outcome) if write.record is not None else None)
                continue
            log.error("a record of the state was lost to another edge", kind=write.key.kind, reason=outcome.message)
            row = self._stored.get(write.key)
            self._mirror.set(write.key, row.record if row else None)
        for row in made.adopted:
            self._owed.pop(row.record.key, None)
            self._adopt(row)
        for key in made.forgotten:
            self._mirror.set(key, None)
        self.changed_elsewhere([row.record for row in made.adopted], made.forgotten)


TAKEN = (Exists, Conflict)


def _answer(change: _Change, outcome: Outcome) -> None:
    if isinstance(outcome, int):
        change.written.set_result(None)
    else:
        change.written.set_exception(outcome)
        change.written.exception()  # a caller that went away does not ask for it


def _nothing(added: list[Record], gone: list[Key]) -> None:
    pass
