"""What `observe` may read, and the record of what it has read.

- A view answers from caches and facts only: no I/O, no waiting. The time of the reconcile is data, too: `now` by the
  runtime's clock, `date` by the calendar.
- Every read is recorded. A later change of any result, and nothing else, requeues the request: there are no mapping
  functions to write and none to forget. A read of what is absent is recorded too, so its creation requeues the
  request.
- A fact that will go stale sets the earliest time at which the request is requeued (`requeue_at`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from seamark_runtime.access import AccessReviews, Right
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.cache import Index, Since
from seamark_runtime.follow import Followed, Follower
from seamark_runtime.request import Request
from seamark_runtime.source import UNREADABLE, Collection, Fact, Facts, Fresh, Informer, Intent, Source

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
        date: datetime | None = None,
    ) -> None:
        self._informers = informers
        self._reviews = reviews
        self._followers = followers or {}
        self._date = date
        self.now = now
        self.reads: dict[Read, None] = {}
        self.requeue_at = float("inf")

    @property
    def date(self) -> datetime:
        assert self._date is not None
        return self._date

    def get(self, kind: type[T], key: Key) -> T | None:
        informer: Informer[T] = self._informers[kind]
        self.reads[(informer, key)] = None
        return informer.cache.get(key)

    def intent(self, kind: type[T], key: Key) -> T | None:
        """The object, of which only metadata and spec are used: changes of its status requeue nothing."""
        informer: Informer[T] = self._informers[kind]
        self.reads[(informer, Intent(key))] = None
        return informer.cache.get(key)

    def unreadable(self, kind: type[Object]) -> Mapping[Key, str]:
        """The uids of objects of a kind that exist and can't be read: they are absent from every other answer."""
        informer = self._informers[kind]
        self.reads[(informer, UNREADABLE)] = None
        return informer.unreadable()

    def exists(self, kind: type[Object], key: Key, uid: str) -> bool:
        """Whether this very object exists: one that can't be read does, too."""
        found = self.intent(kind, key)
        return (self.unreadable(kind).get(key, "") if found is None else found.uid) == uid

    def by(self, index: Index[T], value: Hashable, *, intent: bool = False) -> tuple[T, ...]:
        """With `intent`, changes of an object's status requeue nothing."""
        informer: Informer[T] = self._informers[index.kind]
        self.reads[(informer, Intent((index, value)) if intent else (index, value))] = None
        return informer.cache.by(index, value)

    def since(self, index: Index[T], value: Hashable, mark: int, *, intent: bool = False) -> Since[T]:
        """In what an answer by index differs from the one of a mark.

        With `intent`, changes of an object's status requeue nothing; they are part of the next result.
        """
        informer: Informer[T] = self._informers[index.kind]
        self.reads[(informer, Intent((index, value)) if intent else (index, value))] = None
        return informer.cache.since(index, value, mark)

    def single(self, kind: type[T], key: Key) -> Followed[T]:
        """A single object of a kind that is followed by name; reading it is what starts following it."""
        follower: Follower[T] = self._followers[kind]
        self.reads[(follower, key)] = None
        return follower.get(key)

    def child(self, kind: type[T], key: Key) -> None:
        """A wanted child, however its kind is followed."""
        if kind in self._informers:
            self.get(kind, key)
        else:
            self.single(kind, key)

    def may(self, right: Right) -> Fact[bool]:
        """Whether we have this right, as the API server says. Reading it is what asks; the answer keeps a while."""
        assert self._reviews is not None
        self.reads[(self._reviews, right)] = None
        return self._reviews.get(right, self.now)

    def fact(self, facts: Facts[K, V], key: K) -> Fact[V]:
        self.reads[(facts, key)] = None
        fact = facts.get(key, self.now)
        if isinstance(fact, Fresh):
            self.requeue_at = min(self.requeue_at, fact.expires)
        return fact

    def entries(self, collection: Collection[K, V], subject: K) -> Mapping[Key, V]:
        """What a collection has about a subject, by writer."""
        self.reads[(collection, subject)] = None
        return dict(collection.entries(subject))

    def entry(self, collection: Collection[K, V], subject: K) -> V | None:
        """What a collection has about a subject of which there is one writer."""
        return next(iter(self.entries(collection, subject).values()), None)


class RecordedReads:
    """Which request has read what, in both directions, so that forgetting a request costs what it has read."""

    def __init__(self) -> None:
        self._readers: dict[Read, dict[Request, None]] = {}
        self._reads: dict[Request, tuple[Read, ...]] = {}

    def __len__(self) -> int:
        return len(self._reads)

    def record(self, request: Request, reads: Iterable[Read]) -> None:
        after = tuple(reads)
        if not after:
            self.forget(request)
            return
        before = self._reads.get(request, ())
        if before == after:
            return
        for read in set(before).difference(after):
            self._drop(request, read)
        for read in after:
            self._readers.setdefault(read, {})[request] = None
        self._reads[request] = after

    def readers(self, source: Source, token: Hashable) -> list[Request]:
        return list(self._readers.get((source, token), ()))

    def requests(self) -> tuple[Request, ...]:
        """Every request with recorded reads."""
        return tuple(self._reads)

    def forget(self, request: Request) -> None:
        for read in self._reads.pop(request, ()):
            self._drop(request, read)

    def settle(self, reads: Iterable[Read]) -> None:
        """After these reads: ends what was started for reads that no request depends on."""
        for read in reads:
            if read not in self._readers:
                _release(read)

    def _drop(self, request: Request, read: Read) -> None:
        readers = self._readers.get(read)
        if readers is not None:
            readers.pop(request, None)
            if not readers:
                del self._readers[read]
                _release(read)


def _release(read: Read) -> None:
    source, token = read
    if isinstance(source, Follower | AccessReviews):
        source.release(token)
