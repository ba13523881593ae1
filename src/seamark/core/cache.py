"""What the API server last said about the objects of one kind.

- Only a watch writes here; readers get frozen objects.
- Every declared index is kept with each change, so a question by index costs what its answer is long.
- A restart of the watch keeps serving what is known; what is not put again by its end is removed then.
- Answers by index come sorted by key: the same facts give the same order, whatever order they came in.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from seamark.api.meta import Key, Object

T = TypeVar("T", bound=Object)


@dataclass(frozen=True, eq=False)
class Index(Generic[T]):
    """A question that a controller asks of a kind: which objects have this value? Compared by identity."""

    kind: type[T]
    values: Callable[[T], Iterable[Hashable]]
    name: str


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
            for value in old - new:
                keys = entries[value]
                del keys[key]
                if not keys:
                    del entries[value]
            for value in new - old:
                entries.setdefault(value, {})[key] = None
