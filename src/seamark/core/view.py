"""What `observe` may read, and the memory of what it has read.

- A view answers from caches and facts only: no I/O, no waiting.
- Every question is recorded. A later change of any answer, and nothing else, wakes the key: there are no mapping
  functions to write and none to forget. Asking for what is absent is recorded too, so its coming wakes the key.
- A fact that will go stale sets the earliest moment at which the key is looked at `again`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeVar

from seamark.api.meta import Key, Object
from seamark.core.access import AccessReviews, Right
from seamark.core.cache import Index, Since
from seamark.core.follow import Followed, Follower
from seamark.core.queue import Item
from seamark.core.source import Fact, Facts, Fresh, Informer, Intent, Reports, Source

T = TypeVar("T", bound=Object)
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Read = tuple[Source, Hashable]


class View:
    def __init__(
        self,
        informers: Mapping[type[Object], Informer[Any]],
        now: float,
        followers: Mapping[type[Object], Follower[Any]] | None = None,
        reviews: AccessReviews | None = None,
    ) -> None:
        self._informers = informers
        self._reviews = reviews
        self._followers = followers or {}
        self.now = now
        self.reads: dict[Read, None] = {}
        self.again = float("inf")

    def get(self, kind: type[T], key: Key) -> T | None:
        informer: Informer[T] = self._informers[kind]
        self.reads[(informer, key)] = None
        return informer.cache.get(key)

    def intent(self, kind: type[T], key: Key) -> T | None:
        """The object, of which only what its users say is used: changes of its status wake nobody."""
        informer: Informer[T] = self._informers[kind]
        self.reads[(informer, Intent(key))] = None
        return informer.cache.get(key)

    def by(self, index: Index[T], value: Hashable, *, intent: bool = False) -> tuple[T, ...]:
        """With `intent`, changes of an object's status wake nobody."""
        informer: Informer[T] = self._informers[index.kind]
        self.reads[(informer, Intent((index, value)) if intent else (index, value))] = None
        return informer.cache.by(index, value)

    def since(self, index: Index[T], value: Hashable, mark: int, *, intent: bool = False) -> Since[T]:
        """In what an answer by index differs from the one of a mark.

        With `intent`, changes of an object's status wake nobody; they are told when something else has.
        """
        informer: Informer[T] = self._informers[index.kind]
        self.reads[(informer, Intent((index, value)) if intent else (index, value))] = None
        return informer.cache.since(index, value, mark)

    def one(self, kind: type[T], key: Key) -> Followed[T]:
        """A single object of a kind that is followed by name; reading it is what starts following it."""
        follower: Follower[T] = self._followers[kind]
        self.reads[(follower, key)] = None
        return follower.get(key)

    def child(self, kind: type[T], key: Key) -> None:
        """A wanted child, however its kind is followed."""
        if kind in self._informers:
            self.get(kind, key)
        else:
            self.one(kind, key)

    def may(self, right: Right) -> Fact[bool]:
        """Whether we have this right, as the API server says. Reading it is what asks; the answer keeps a while."""
        assert self._reviews is not None
        self.reads[(self._reviews, right)] = None
        return self._reviews.get(right, self.now)

    def fact(self, facts: Facts[K, V], key: K) -> Fact[V]:
        self.reads[(facts, key)] = None
        fact = facts.get(key, self.now)
        if isinstance(fact, Fresh):
            self.again = min(self.again, fact.expires)
        return fact

    def reports(self, reports: Reports[V], subject: Hashable) -> Mapping[Any, V]:
        self.reads[(reports, subject)] = None
        return dict(reports.about(subject))


class Dependencies:
    """Who has read what. Both directions, so that forgetting a key costs what it has read."""

    def __init__(self) -> None:
        self._readers: dict[Read, dict[Item, None]] = {}
        self._reads: dict[Item, tuple[Read, ...]] = {}

    def __len__(self) -> int:
        return len(self._reads)

    def record(self, item: Item, reads: Iterable[Read]) -> None:
        after = tuple(reads)
        before = self._reads.get(item, ())
        if before == after:
            return
        for read in set(before).difference(after):
            self._drop(item, read)
        for read in after:
            self._readers.setdefault(read, {})[item] = None
        self._reads[item] = after

    def readers(self, source: Source, token: Hashable) -> list[Item]:
        return list(self._readers.get((source, token), ()))

    def forget(self, item: Item) -> None:
        for read in self._reads.pop(item, ()):
            self._drop(item, read)

    def _drop(self, item: Item, read: Read) -> None:
        readers = self._readers.get(read)
        if readers is not None:
            readers.pop(item, None)
            if not readers:
                del self._readers[read]
                if isinstance(read[0], Follower | AccessReviews):
                    read[0].release(read[1])
