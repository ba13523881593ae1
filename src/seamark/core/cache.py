"""What the API server last said about the objects of one kind.

- Only a watch writes here; readers get frozen objects.
- Every declared index is kept with each change, so a question by index costs what its answer is long.
- A restart of the watch keeps serving what is known; what is not put again by its end is removed then.
- Answers by index come sorted by key: the same facts give the same order, whatever order they came in.
- Of an index that is `journalled`, what has changed in an answer can be asked for: at the cost of the change.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from seamark.api.meta import Key, Object
from seamark.core.journal import Journal

T = TypeVar("T", bound=Object)


@dataclass(frozen=True, eq=False)
class Index(Generic[T]):
    """A question that a controller asks of a kind: which objects have this value? Compared by identity."""

    kind: type[T]
    values: Callable[[T], Iterable[Hashable]]
    name: str
    journalled: bool = False  # it can be asked what has changed in an answer


@dataclass(frozen=True, slots=True)
class Since(Generic[T]):
    """What has changed in an answer by index: objects by key, None for what is not in it any more.

    `whole`: it could not be told any more, or was asked for the first time. Then this is all of the answer.
    """

    mark: int  # of now: what to ask with next time
    changed: dict[Key, T | None]
    whole: bool


INTENT = ("uid", "generation", "deletion_timestamp", "labels", "annotations", "finalizers", "owner_references")


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """One object before and after. `after` is None when it is gone."""

    key: Key
    before: T | None
    after: T | None

    @property
    def of_intent(self) -> bool:
        """Whether more than the status changed. Kinds without a generation can't tell, so for them: always."""
        if self.before is None or self.after is None:
            return True
        old, new = self.before.metadata, self.after.metadata
        return not old.generation or any(getattr(old, name) != getattr(new, name) for name in INTENT)

    def objects(self) -> Iterator[T]:
        if self.before is not None:
            yield self.before
        if self.after is not None:
            yield self.after


class Cache(Generic[T]):
    def __init__(self, indexes: Iterable[Index[T]] = ()) -> None:
        self._objects: dict[Key, T] = {}
        self._indexes: dict[Index[T], dict[Hashable, dict[Key, None]]] = {index: {} for index in indexes}
        self._journals: dict[tuple[Index[T], Hashable], Journal[Key]] = {}
        self._unconfirmed: set[Key] | None = None  # during a restart: known before, not put again yet

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(self._objects.values())

    @property
    def indexes(self) -> tuple[Index[Any], ...]:
        return tuple(self._indexes)

    def get(self, key: Key) -> T | None:
        return self._objects.get(key)

    def by(self, index: Index[T], value: Hashable) -> tuple[T, ...]:
        keys = self._indexes[index].get(value)
        return tuple(self._objects[key] for key in sorted(keys)) if keys else ()

    def since(self, index: Index[T], value: Hashable, mark: int) -> Since[T]:
        """In what an answer differs from the one of a mark, if the index is journalled; 0 is before everything."""
        journal = self._journals.get((index, value)) or Journal()
        keys = journal.since(mark) if mark else None
        if keys is None:
            return Since(journal.mark, {obj.key: obj for obj in self.by(index, value)}, whole=True)
        inside = self._indexes[index].get(value, {})
        return Since(journal.mark, {key: self._objects[key] if key in inside else None for key in keys}, whole=False)

    def put(self, obj: T) -> Change[T]:
        key = obj.key
        before = self._objects.get(key)
        self._objects[key] = obj
        if self._unconfirmed is not None:
            self._unconfirmed.discard(key)
        self._reindex(key, before, obj)
        return Change(key, before, obj)

    def remove(self, key: Key) -> Change[T]:
        before = self._objects.pop(key, None)
        if self._unconfirmed is not None:
            self._unconfirmed.discard(key)
        self._reindex(key, before, None)
        return Change(key, before, None)

    def restart(self) -> None:
        self._unconfirmed = set(self._objects)

    def confirm(self) -> list[Change[T]]:
        """Ends a restart: what was not put again is gone."""
        gone = sorted(self._unconfirmed or ())
        self._unconfirmed = None
        return [self.remove(key) for key in gone]

    def _reindex(self, key: Key, before: T | None, after: T | None) -> None:
        for index, entries in self._indexes.items():
            old = set(index.values(before)) if before is not None else set()
            new = set(index.values(after)) if after is not None else set()
            if index.journalled:
                for value in old | new:
                    self._journals.setdefault((index, value), Journal()).note(key)
            for value in old - new:
                keys = entries[value]
                del keys[key]
                if not keys:
                    del entries[value]
            for value in new - old:
                entries.setdefault(value, {})[key] = None
