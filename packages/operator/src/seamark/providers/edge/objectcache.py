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


class ObjectCache:
    """Objects of one kind: ours by owner, all by id.

    - One listing serves all callers while it is fresh, so a lookup of one object costs no request.
    - Calls for one owner are serialized; different owners don't wait for each other.
    - What was created or deleted while a listing was in flight takes precedence over the listing.
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
        self._owned: dict[Owner, Fields] | None = None
        self._everything: dict[str, Fields] = {}
        self._listed = float("-inf")
        self._listing = asyncio.Lock()
        self._changed_while_listing: list[tuple[Owner, Fields | None]] = []  # since the listing under way began
        self._locks: dict[Owner, _OwnerLock] = {}
        self._uncertain: set[Owner] = set()  # owners for whose object the outcome of the last request is unknown

    async def find(self, owner: Owner) -> Fields | None:
        return (await self._view(owner)).get(owner)

    async def owned(self, test: Callable[[Owner], bool]) -> dict[Owner, Fields]:
        uncertain = next(filter(test, self._uncertain), None)
        return {owner: item for owner, item in (await self._view(uncertain)).items() if test(owner)}

    async def search(self, test: Callable[[Fields], bool], max_age: float = 5.0) -> Fields | None:
        """An object of any owner that passes the test. A listing older than `patience` is not enough to conclude that
        there is none."""
        await self._view()
        found = next(filter(test, self._everything.values()), None)
        if found is None and self._age() > max_age:
            await self._list()
            found = next(filter(test, self._everything.values()), None)
        return found

    async def ensure(self, owner: Owner, body: Fields) -> Fields:
        """The owner's object: the one that is there, or a new one."""
        async with self._locked(owner):
            owned = await self._view(owner)
            if owner in owned:
                return owned[owner]
            try:
                with requests_of(owner):
                    made = await self._calls.create(self._kind, {**body, "metadata": _marked(owner, body)})
            except (Uncertain, Exists):
                # It may have been made after all. If so, it has our mark.
                self._uncertain.add(owner)
                owned = await self._view(owner)
                if owner in owned:
                    return owned[owner]
                if (namesake := _namesake(owned, owner, body)) is None:
                    raise
                return await self._take_over(owner, namesake, owned[namesake], body)
            except BaseException as error:
                self._mark_uncertain(owner, error)
                raise
            self._note(owner, made)
            return made

    async def _take_over(self, owner: Owner, former: Owner, item: Fields, body: Fields) -> Fields:
        """Takes over a conflicting object that was created for a deleted object of the same name."""
        mark = {"metadata": _marked(owner, body)}
        try:
            with requests_of(owner):
                taken = await self._calls.update(self._kind, item["id"], mark)
        except BaseException as error:
            self._mark_uncertain(owner, error)
            raise
        self._note(former, None)
        self._note(owner, taken)
        return taken

    async def update(self, owner: Owner, body: Fields) -> Fields:
        async with self._locked(owner):
            owned = await self._view(owner)
            if owner not in owned:
                raise Gone(f"{self._kind.name.lower()} of {owner.namespace}/{owner.name} do not exist")
            if "metadata" in body:
                body = {**body, "metadata": _marked(owner, body)}
            try:
                with requests_of(owner):
                    changed = await self._calls.update(self._kind, owned[owner]["id"], body)
            except BaseException as error:
                self._mark_uncertain(owner, error)
                raise
            self._note(owner, changed)
            return changed

    async def release(self, owner: Owner) -> None:
        """It stays, without an owner."""
        async with self._locked(owner):
            owned = await self._view(owner)
            if owner in owned:
                await self._end(owner, self._calls.update(self._kind, owned[owner]["id"], {"metadata": ""}))

    async def delete(self, owner: Owner) -> None:
        async with self._locked(owner):
            owned = await self._view(owner)
            if owner in owned:
                await self._end(owner, self._calls.delete(self._kind, owned[owner]["id"]))

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
            self._mark_uncertain(owner, error)
            raise
        self._note(owner, None)

    def _mark_uncertain(self, owner: Owner, error: BaseException) -> None:
        """After an error that may have changed something, the owner's objects are not known."""
        if isinstance(error, Uncertain) or not isinstance(error, Retry | Refused):
            self._uncertain.add(owner)

    @asynccontextmanager
    async def _locked(self, owner: Owner) -> AsyncIterator[None]:
        lock = self._locks.setdefault(owner, _OwnerLock())
        lock.users += 1
        try:
            async with lock.lock:
                yield
        finally:
            lock.users -= 1
            if not lock.users:
                self._locks.pop(owner, None)

    def _note(self, owner: Owner, item: Fields | None) -> None:
        """Records our own latest change of an owner's object."""
        if self._listing.locked():
            self._changed_while_listing.append((owner, item))
        if self._owned is not None:
            self._put(self._owned, self._everything, owner, item)

    @staticmethod
    def _put(owned: dict[Owner, Fields], everything: dict[str, Fields], owner: Owner, item: Fields | None) -> None:
        before = owned.pop(owner, None)
        if before is not None:
            everything.pop(before["id"], None)
        if item is not None:
            owned[owner] = everything[item["id"]] = item

    def _age(self) -> float:
        return self._freshness.clock.monotonic() - self._listed

    async def _view(self, owner: Owner | None = None) -> dict[Owner, Fields]:
        """What is there, good enough to decide about this owner's object."""
        if self._owned is not None and self._age() <= self._freshness.listed and owner not in self._uncertain:
            return self._owned
        try:
            return await self._list(owner)
        except Retry:
            if self._owned is None or self._age() > self._freshness.stands or owner in self._uncertain:
                raise
            return self._owned

    async def _list(self, about: Owner | None = None) -> dict[Owner, Fields]:
        requested = self._freshness.clock.monotonic()
        async with self._listing:
            if self._owned is not None and self._listed >= requested and about not in self._uncertain:
                return self._owned  # another task was quicker
            self._changed_while_listing.clear()
            resolved = set(self._uncertain)
            began = self._freshness.clock.monotonic()
            items = sorted(await self._calls.listed(self._kind), key=lambda item: str(item["id"]))
            owned: dict[Owner, Fields] = {}
            everything = {item["id"]: item for item in items}
            for item in items:
                owner = Owner.of(item.get("metadata") or "")
                if owner is None or item.get("type") == "agent":
                    continue
                if owner in owned and owner not in self._locks:
                    await self._calls.delete(self._kind, item["id"])
                    everything.pop(item["id"])
                else:
                    owned.setdefault(owner, item)
            for owner, done in self._changed_while_listing:
                self._put(owned, everything, owner, done)
            self._owned, self._everything, self._listed = owned, everything, began
            self._uncertain -= resolved
            return owned


@dataclass(slots=True)
class _OwnerLock:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


def _namesake(owned: dict[Owner, Fields], owner: Owner, body: Fields) -> Owner | None:
    """Who owns what stands in the way, if it is an object of our own name with another uid."""
    place = {name: body[name] for name in ("domain", "url") if name in body}
    for other, item in owned.items():
        if replace(other, uid=owner.uid) == owner and place and place.items() <= item.items():
            return other
    return None


def _marked(owner: Owner, body: Fields) -> str:
    """The owner's mark, with further metadata."""
    given = body.get("metadata") or ""
    try:
        extra = decode_plain_json(given, METADATA) if given else {}
    except Malformed:
        extra = {"said": given}
    if not isinstance(extra, dict):
        extra = {"said": extra}
    mark = decode_plain_json(owner.metadata, METADATA)
    return msgspec.json.encode({**extra, **mark}).decode()
