"""The objects of one kind as last received from the API server.

- Only a watch writes here; readers get frozen objects.
- Every declared index is kept with each change, so a question by index costs what its answer is long.
- A restart of the watch keeps serving what is known; what is not put again by its end is removed then.
- What an object has under each index is computed once, before anything changes: an index function that raises leaves
  the cache as it was, and a removal calls none.
- Answers by index come sorted by key: the same facts give the same order, whatever order they came in.
- Of an index that is `journalled`, what has changed in an answer can be asked for: at the cost of the change.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import structlog

from seamark_runtime.api.meta import Key, Object
from seamark_runtime.journal import Journal

T = TypeVar("T", bound=Object)

log = structlog.get_logger(__name__)


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

    `whole`: the difference is not known any more, or this is the first question. Then this is the whole result.
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
    values: tuple[tuple[Index[Any], tuple[Hashable, ...]], ...] = field(default=(), compare=False)  # touched, per index

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


Values = tuple[tuple[Hashable, ...], ...]  # of one object: per index, in the order of the indexes


def _values(index: Index[T], obj: T) -> Iterable[Hashable]:
    return index.values(obj)


def _values_of_leaving(index: Index[T], obj: T) -> Iterable[Hashable]:
    try:
        return tuple(index.values(obj))
    except Exception:
        log.exception("an index failed for an object that is being deleted", index=index.name, object=str(obj.key))
        return ()


class Cache(Generic[T]):
    def __init__(self, indexes: Iterable[Index[T]] = ()) -> None:
        self._objects: dict[Key, T] = {}
        self._indexes: dict[Index[T], dict[Hashable, dict[Key, None]]] = {index: {} for index in indexes}
        self._values: dict[Key, Values] = {}  # of every object, as they were computed when it was put
        self._journals: dict[tuple[Index[T], Hashable], Journal[Key]] = {}
        self._unconfirmed: set[Key] | None = None  # during a restart: known before, not put again yet

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[T]:
        return iter(self._objects.values())

    def add_index(self, index: Index[T]) -> None:
        """From now on this question can be asked. Only while nothing is in the cache."""
        if self._objects:
            raise ValueError(f"the index {index.name!r} comes too late: there are objects already")
        self._indexes[index] = {}

    def known(self, index: Index[T]) -> Iterable[Hashable]:
        """Every value that some object has."""
        return self._indexes[index].keys()

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

    def put(self, obj: T, *, leaving: bool = False) -> Change[T]:
        """An index that raises leaves the cache as it was; one that is `leaving` has no value there, and is put."""
        read = _values_of_leaving if leaving else _values
        values = tuple(tuple(dict.fromkeys(read(index, obj))) for index in self._indexes)  # first: it may raise
        key = obj.key
        before = self._objects.get(key)
        self._objects[key] = obj
        if self._unconfirmed is not None:
            self._unconfirmed.discard(key)
        return Change(key, before, obj, self._reindex(key, values))

    def remove(self, key: Key) -> Change[T]:
        before = self._objects.pop(key, None)
        if self._unconfirmed is not None:
            self._unconfirmed.discard(key)
        return Change(key, before, None, self._reindex(key, None))

    def restart(self) -> None:
        self._unconfirmed = set(self._objects)

    def confirm(self) -> list[Change[T]]:
        """Ends a restart: what was not put again is gone."""
        gone = sorted(self._unconfirmed or ())
        self._unconfirmed = None
        return [self.remove(key) for key in gone]

    def _reindex(self, key: Key, after: Values | None) -> tuple[tuple[Index[T], tuple[Hashable, ...]], ...]:
        """Moves a key from its old values to these. All that it had or has, per index."""
        nothing: Values = ((),) * len(self._indexes)
        before = self._values.pop(key, nothing)
        if after is not None:
            self._values[key] = after
        touched = []
        for index, old, new in zip(self._indexes, before, after or nothing, strict=True):
            values = old if old == new else tuple(dict.fromkeys((*old, *new)))
            if old != new:
                self._move(index, key, old, new)
            if index.journalled:
                for value in values:
                    self._journals.setdefault((index, value), Journal()).note(key)
            touched.append((index, values))
        return tuple(touched)

    def _move(self, index: Index[T], key: Key, old: tuple[Hashable, ...], new: tuple[Hashable, ...]) -> None:
        entries = self._indexes[index]
        for value in set(old).difference(new):
            keys = entries[value]
            del keys[key]
            if not keys:
                del entries[value]
        for value in new:
            entries.setdefault(value, {})[key] = None
