"""A cache of one kind of objects at an edge: listed now and then for all callers, and updated by responses to our
writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import msgspec

from seamark.providers.edge.calls import Calls, Kind, requests_of
from seamark_edge.model import METADATA, Fields, Owner
from seamark_runtime.clock import Clock, SystemClock
from seamark_runtime.errors import Exists, Gone, Refused, Retry, Uncertain
from seamark_runtime.untrusted.decoding import Malformed, decode_plain_json


@dataclass(frozen=True, slots=True)
class Freshness:
    """How old a listing may be: older than `listed` it is asked for again; where that fails, it stands for `stands`."""

    listed: float = 60.0
    stands: float = 180.0
    clock: Clock = field(default_factory=SystemClock)


class Shelf:
    """Objects of one kind: ours by owner, all by id.

    - One listing serves all who ask, for as long as it is fresh; so a question about one object costs no request.
    - One thing at a time is done for an owner; different owners don't wait for each other.
    - What we made or deleted while a listing was under way counts, whatever the listing says.
    - After a lost reply, or a surprise, it is listed again before anything else is decided about that owner's object.
      Others do not wait for that.
    - An edge that does not respond for a moment changes nothing; after `stands` callers get an error.
    - What stands in the way of a new one, and has the mark of an object of the same name with another uid, is taken
      over: a name is used by one object at a time, so that one is gone (after a restore of the cluster's past, say).
    - Of two objects with one owner (made before a crash that neither saw) the older one counts, the other is deleted.
    """

    def __init__(self, calls: Calls, kind: Kind, freshness: Freshness) -> None:
        self._calls = calls
        self._kind = kind
        self._freshness = freshness
        self._found: dict[Owner, Fields] | None = None
        self._everything: dict[str, Fields] = {}
        self._listed = float("-inf")
        self._listing = asyncio.Lock()
        self._meanwhile: list[tuple[Owner, Fields | None]] = []  # since the listing under way began
        self._turns: dict[Owner, _Turn] = {}
        self._doubts: set[Owner] = set()  # owners of whose object it is not known what came of the last request

    async def find(self, owner: Owner) -> Fields | None:
        return (await self._view(owner)).get(owner)

    async def owned(self, test: Callable[[Owner], bool]) -> dict[Owner, Fields]:
        doubt = next(filter(test, self._doubts), None)
        return {owner: item for owner, item in (await self._view(doubt)).items() if test(owner)}

    async def search(self, test: Callable[[Fields], bool], patience: float = 5.0) -> Fields | None:
        """An object of any owner that passes the test. A listing older than `patience` is not enough to conclude that
        there is none."""
        await self._view()
        found = next(filter(test, self._everything.values()), None)
        if found is None and self._age() > patience:
            await self._list()
            found = next(filter(test, self._everything.values()), None)
        return found

    async def make(self, owner: Owner, body: Fields) -> Fields:
        """The owner's object: the one that is there, or a new one."""
        async with self._turn(owner):
            found = await self._view(owner)
            if owner in found:
                return found[owner]
            try:
                with requests_of(owner):
                    made = await self._calls.create(self._kind, {**body, "metadata": _marked(owner, body)})
            except (Uncertain, Exists):
                # It may have been made after all. If so, it has our mark.
                self._doubts.add(owner)
                found = await self._view(owner)
                if owner in found:
                    return found[owner]
                if (namesake := _namesake(found, owner, body)) is None:
                    raise
                return await self._inherit(owner, namesake, found[namesake], body)
            except BaseException as error:
                self._doubt(owner, error)
                raise
            self._note(owner, made)
            return made

    async def _inherit(self, owner: Owner, former: Owner, item: Fields, body: Fields) -> Fields:
        """Takes over a conflicting object that was created for a deleted object of the same name."""
        mark = {"metadata": _marked(owner, body)}
        try:
            with requests_of(owner):
                taken = await self._calls.update(self._kind, item["id"], mark)
        except BaseException as error:
            self._doubt(owner, error)
            raise
        self._note(former, None)
        self._note(owner, taken)
        return taken

    async def change(self, owner: Owner, body: Fields) -> Fields:
        async with self._turn(owner):
            found = await self._view(owner)
            if owner not in found:
                raise Gone(f"{self._kind.name.lower()} of {owner.namespace}/{owner.name} are not there")
            if "metadata" in body:
                body = {**body, "metadata": _marked(owner, body)}
            try:
                with requests_of(owner):
                    changed = await self._calls.update(self._kind, found[owner]["id"], body)
            except BaseException as error:
                self._doubt(owner, error)
                raise
            self._note(owner, changed)
            return changed

    async def disown(self, owner: Owner) -> None:
        """It stays, without an owner."""
        async with self._turn(owner):
            found = await self._view(owner)
            if owner in found:
                await self._end(owner, self._calls.update(self._kind, found[owner]["id"], {"metadata": ""}))

    async def drop(self, owner: Owner) -> None:
        async with self._turn(owner):
            found = await self._view(owner)
            if owner in found:
                await self._end(owner, self._calls.delete(self._kind, found[owner]["id"]))

    async def refresh(self) -> dict[Owner, Fields]:
        return dict(await self._list())

    async def everything(self) -> Iterable[Fields]:
        """All of it, listed now."""
        await self._list()
        return list(self._everything.values())

    async def _end(self, owner: Owner, ending: Awaitable[object]) -> None:
        try:
            with requests_of(owner):
                await ending
        except Gone:
            pass
        except BaseException as error:
            self._doubt(owner, error)
            raise
        self._note(owner, None)

    def _doubt(self, owner: Owner, error: BaseException) -> None:
        """After an error that may have changed something, the owner's objects are not known."""
        if isinstance(error, Uncertain) or not isinstance(error, Retry | Refused):
            self._doubts.add(owner)

    @asynccontextmanager
    async def _turn(self, owner: Owner) -> AsyncIterator[None]:
        turn = self._turns.setdefault(owner, _Turn())
        turn.users += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.users -= 1
            if not turn.users:
                self._turns.pop(owner, None)

    def _note(self, owner: Owner, item: Fields | None) -> None:
        """What we have just done with an owner's object."""
        if self._listing.locked():
            self._meanwhile.append((owner, item))
        if self._found is not None:
            self._put(self._found, self._everything, owner, item)

    @staticmethod
    def _put(found: dict[Owner, Fields], everything: dict[str, Fields], owner: Owner, item: Fields | None) -> None:
        before = found.pop(owner, None)
        if before is not None:
            everything.pop(before["id"], None)
        if item is not None:
            found[owner] = everything[item["id"]] = item

    def _age(self) -> float:
        return self._freshness.clock.monotonic() - self._listed

    async def _view(self, owner: Owner | None = None) -> dict[Owner, Fields]:
        """What is there, good enough to decide about this owner's object."""
        if self._found is not None and self._age() <= self._freshness.listed and owner not in self._doubts:
            return self._found
        try:
            return await self._list(owner)
        except Retry:
            if self._found is None or self._age() > self._freshness.stands or owner in self._doubts:
                raise
            return self._found

    async def _list(self, about: Owner | None = None) -> dict[Owner, Fields]:
        asked = self._freshness.clock.monotonic()
        async with self._listing:
            if self._found is not None and self._listed >= asked and about not in self._doubts:
                return self._found  # another task was quicker
            self._meanwhile.clear()
            doubts = set(self._doubts)
            began = self._freshness.clock.monotonic()
            items = sorted(await self._calls.listed(self._kind), key=lambda item: str(item["id"]))
            found: dict[Owner, Fields] = {}
            everything = {item["id"]: item for item in items}
            for item in items:
                owner = Owner.of(item.get("metadata") or "")
                if owner is None or item.get("type") == "agent":
                    continue
                if owner in found and owner not in self._turns:
                    await self._calls.delete(self._kind, item["id"])
                    everything.pop(item["id"])
                else:
                    found.setdefault(owner, item)
            for owner, done in self._meanwhile:
                self._put(found, everything, owner, done)
            self._found, self._everything, self._listed = found, everything, began
            self._doubts -= doubts
            return found


@dataclass(slots=True)
class _Turn:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


def _namesake(found: dict[Owner, Fields], owner: Owner, body: Fields) -> Owner | None:
    """Who owns what stands in the way, if it is an object of our own name with another uid."""
    place = {name: body[name] for name in ("domain", "url") if name in body}
    for other, item in found.items():
        if replace(other, uid=owner.uid) == owner and place and place.items() <= item.items():
            return other
    return None


def _marked(owner: Owner, body: Fields) -> str:
    """The owner's mark, with further metadata."""
    said = body.get("metadata") or ""
    try:
        beside = decode_plain_json(said, METADATA) if said else {}
    except Malformed:
        beside = {"said": said}
    if not isinstance(beside, dict):
        beside = {"said": beside}
    mark = msgspec.json.decode(owner.metadata)
    return msgspec.json.encode({**beside, **mark}).decode()
