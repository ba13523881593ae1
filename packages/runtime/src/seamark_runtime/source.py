"""Sources: keyed collections of facts that notify of each change. All input of controllers comes from them.

- `Informer`: the objects of one kind, by watch.
- `Facts`: what probes, calls and pollers found out, with a shelf life.
- `Collection`: entries about each of many objects that were worked on at once (a translation, a zone).
- A source is `synced` when its first full answer is in; before that nothing is concluded from an absence.
- A change is (source, token); `view` records which tokens a request has read, and only those requeue it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar, TypeVarTuple, Unpack, cast

import structlog

from seamark_runtime.api.meta import Key, Object, ObjectMeta
from seamark_runtime.cache import Cache, Change, Index
from seamark_runtime.errors import Gone, Retry, SeamarkError
from seamark_runtime.failures import LISTENER, Failure, described, log_failure
from seamark_runtime.watch import Watch, number, plain
from seamark_runtime.watchevents import Broken, Event, Progress, Put, Removed, Restarted, Synced, Trouble

T = TypeVar("T", bound=Object)
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
A = TypeVarTuple("A")

log = structlog.get_logger(__name__)


# ---- facts


@dataclass(frozen=True, slots=True)
class NotYet:
    """No response yet. This is evidence of nothing."""


@dataclass(frozen=True, slots=True)
class Absent:
    """The response is: there is none."""


@dataclass(frozen=True, slots=True)
class Fresh(Generic[V]):
    value: V
    expires: float = float("inf")


@dataclass(frozen=True, slots=True)
class Stale(Generic[V]):
    """It was true once and is not verified any more."""

    value: V


Fact = NotYet | Absent | Fresh[V] | Stale[V]


class Source:
    """Contract: `synced` turns True and stays; listeners are called for every change, synchronously.

    - A listener that raises does not stop others: that is a failure, reported to `on_failure`.
    - Only `Collection` begin anew, with each term of leadership.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.synced = False
        self.on_failure: Callable[[Failure], None] = log_failure
        self._listeners: list[Callable[[Source, Hashable], None]] = []

    def subscribe(self, listener: Callable[[Source, Hashable], None]) -> None:
        self._listeners.append(listener)

    def _notify(self, token: Hashable) -> None:
        self._call(self._listeners, self, token)

    def _call(self, listeners: Iterable[Callable[[Unpack[A]], None]], *arguments: *A) -> None:
        for listener in listeners:
            try:
                listener(*arguments)
            except Exception as error:
                log.exception("a listener failed: this is a bug in Seamark", source=self.name)
                self.on_failure(Failure(LISTENER, self.name, message=described(error)))


SYNCED = "synced"  # the token of a source that becomes synced


class Facts(Source, Generic[K, V]):
    """Facts by key, each with the moment at which it goes stale."""

    def __init__(self, name: str, *, synced: bool = True) -> None:
        super().__init__(name)
        self.synced = synced
        self._facts: dict[K, Fresh[V] | Absent] = {}

    def get(self, key: K, now: float) -> Fact[V]:
        match self._facts.get(key):
            case None:
                return Absent() if self.synced else NotYet()
            case Fresh(value, expires) if expires <= now:
                return Stale(value)
            case fact:
                return fact

    def put(self, key: K, value: V, expires: float = float("inf")) -> None:
        before = self._facts.get(key)
        self._facts[key] = Fresh(value, expires)
        if before != self._facts[key]:
            self._notify(key)

    def remove(self, key: K) -> None:
        if self._facts.pop(key, None) is not None:
            self._notify(key)

    def sync(self) -> None:
        if not self.synced:
            self.synced = True
            self._notify(SYNCED)


class Collection(Source, Generic[K, V]):
    """Entries of each writer about each subject. Listeners are called for differences only.

    A writer replaces all of its entries (`publish`), or those about some subjects (`amend`).
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._by_writer: dict[Key, dict[K, V]] = {}  # writer → subject → entry
        self._by_subject: dict[K, dict[Key, V]] = {}  # subject → writer → entry: the same entries

    def entries(self, subject: K) -> Mapping[Key, V]:
        """By writer."""
        return self._by_subject.get(subject, {})

    def subjects(self) -> tuple[K, ...]:
        return tuple(self._by_subject)

    def publish(self, writer: Key, entries: Mapping[K, V]) -> None:
        before = self._by_writer.get(writer, {})
        if entries:
            self._by_writer[writer] = dict(entries)
        else:
            self._by_writer.pop(writer, None)
        for subject in [*before, *(subject for subject in entries if subject not in before)]:
            self._replace(subject, writer, before.get(subject), entries.get(subject))

    def amend(self, writer: Key, entries: Mapping[K, V | None]) -> None:
        """Replaces the writer's entries about these subjects and keeps the others; None removes one."""
        own = self._by_writer.setdefault(writer, {})
        for subject, entry in entries.items():
            before = own.get(subject)
            if entry is None:
                own.pop(subject, None)
            else:
                own[subject] = entry
            self._replace(subject, writer, before, entry)
        if not own:
            del self._by_writer[writer]

    def _replace(self, subject: K, writer: Key, before: V | None, entry: V | None) -> None:
        if before == entry:
            return
        entries = self._by_subject.setdefault(subject, {})
        if entry is None:
            entries.pop(writer, None)
        else:
            entries[writer] = entry
        if not entries:
            del self._by_subject[subject]
        self._notify(subject)

    def sync(self) -> None:
        if not self.synced:
            self.synced = True
            self._notify(SYNCED)

    def restart(self) -> None:
        """A new term of leadership: entries of an earlier one are no evidence until each writer was reconciled."""
        self.synced = False


# ---- objects


UNREADABLE = "unreadable"  # the token of the objects of a kind that exist and can't be read


class Intent(NamedTuple):
    """The token of the intent of an object, or of an answer by index: everything but the status."""

    key: Hashable


class Informer(Source, Generic[T]):
    """A kind in the cache, kept by a watch.

    - Tokens: a Key for an object, Intent(key) for all of it but its status, (index, value) for an answer by index,
      Intent((index, value)) for that without status, and UNREADABLE.
    - `revision` is the version up to which everything is in the cache; `lists` counts lists begun, `listed` the
      last one that was completed: together they tell whether a write has been seen (see `expectations`).
    - `broken`: objects that can't be decoded or processed: they are in no cache, and exist all the same (`unreadable`).
      One that is being deleted and has one of our `finalizers` is in the cache, with the fields that can be read: or
      it would never be released.
    - `stale`: no response for so long that the content may be outdated, until a list is complete. A refusal is a
      response: then `trouble` has it.
    """

    def __init__(self, watch: Watch[T], indexes: tuple[Index[T], ...] = (), *, optional: bool = False) -> None:
        super().__init__(str(watch.kind.RESOURCE))
        self.optional = optional  # the kind may not be installed: then there are none of it
        self.kind = watch.kind
        self.watch = watch
        self.cache: Cache[T] = Cache(indexes)
        self.revision = 0
        self.lists = 0
        self.listed = 0
        self.trouble: str | None = None
        self.stale = False
        self.broken: dict[Key, Broken] = {}
        self.finalizers: frozenset[str] = frozenset()  # ours on objects of this kind
        self._reported: dict[Key, Broken] = {}  # what was broken before the list that is under way
        self._observers: list[Callable[[Informer[T], Change[T]], None]] = []
        self._progress: list[Callable[[Informer[T]], None]] = []

    @property
    def listing(self) -> bool:
        """A list is under way: what it will show, and what is followed from it, is not here yet."""
        return self.listed < self.lists

    def on_change(self, observer: Callable[[Informer[T], Change[T]], None]) -> None:
        self._observers.append(observer)

    def on_progress(self, listener: Callable[[Informer[T]], None]) -> None:
        self._progress.append(listener)

    def handle(self, event: Event) -> None:
        match event:
            case Put(object=obj):
                change = self.cache.put(obj)  # first: an index function may raise
                self._not_broken(obj.key)
                self._changed(change)
                self._reached(obj.metadata.resource_version)
            case Removed(object=obj):
                self._not_broken(obj.key)
                self._changed(self.cache.remove(obj.key))
                self._reached(obj.metadata.resource_version)
            case Progress(version=version):
                self._reached(version)
            case Restarted(silent=silent):
                self.lists += 1
                self.stale = self.stale or silent
                self._reported |= self.broken
                self.broken = {}  # what still exists and can't be decoded will be reported again
                self.cache.restart()
            case Synced(version=version):
                self._complete(version)
            case Broken(part=part) if part is not None and self.finalizers.intersection(part.metadata.finalizers or ()):
                self._not_broken(event.key)
                self._changed(self.cache.put(cast("T", part), leaving=True))
                self._reached(event.version)
            case Broken():
                self._unreadable(event)
                self._reached(event.version)
            case Trouble(error=Gone()) if self.optional:
                self._not_installed()
            case Trouble(error=error, silent=silent):
                self._troubled(error, silent=silent)

    def _changed(self, change: Change[T]) -> None:
        if change.before == change.after:
            return  # never there, or shown again by a new list just as it was
        self._call(self._observers, self, change)
        of_intent = change.of_intent
        self._notify(change.key)
        if of_intent:
            self._notify(Intent(change.key))
        for index, values in change.values:
            for value in values:
                self._notify((index, value))
                if of_intent:
                    self._notify(Intent((index, value)))

    def _reached(self, version: str) -> None:
        self.trouble = None
        if not self.listing:  # inside a list, versions come in no order
            self.revision = max(self.revision, number(version))
            self._progressed()

    def _complete(self, version: str) -> None:
        for change in self.cache.confirm():
            self._changed(change)
        self.trouble = None
        self.stale = False
        gone, self._reported = self._reported.keys() - self.broken.keys(), {}
        if gone:
            self._notify(UNREADABLE)
        self.listed = self.lists
        self.revision = number(version)  # may go back: a cluster restored to its past
        self._now_synced()
        self._progressed()

    def _progressed(self) -> None:
        self._call(self._progress, self)

    def unreadable(self) -> dict[Key, str]:
        """The uids of objects that exist and can't be read: during a list, also those from before it."""
        return {key: broken.uid for key, broken in (self._reported | self.broken).items()}

    def _not_broken(self, key: Key) -> None:
        known = [self.broken.pop(key, None), self._reported.pop(key, None)]
        if any(known):
            self._notify(UNREADABLE)

    def _unreadable(self, broken: Broken) -> None:
        """It is reported once, and not with every list that shows it unchanged."""
        known = self.broken.get(broken.key) or self._reported.get(broken.key)
        self.broken[broken.key] = broken
        if known is None or (known.uid, known.message) != (broken.uid, broken.message):
            self.on_failure(self._failure(broken))
        if known is None or known.uid != broken.uid:
            self._notify(UNREADABLE)
        self._changed(self.cache.remove(broken.key))

    def failures(self) -> list[Failure]:
        """What is broken now."""
        return [self._failure(broken) for broken in self.broken.values()]

    def _failure(self, broken: Broken) -> Failure:
        meta = ObjectMeta(name=broken.key.name, namespace=broken.key.namespace, uid=broken.uid)
        return Failure(broken.stage, self.kind.RESOURCE, meta, broken.message)

    def _not_installed(self) -> None:
        """That is an answer: there are no objects of this kind. Its coming is noticed, as the watch goes on trying."""
        for change in self.cache.confirm():
            self._changed(change)
        self.stale = False
        self._now_synced()
        self._progressed()

    def _now_synced(self) -> None:
        if not self.synced:
            self.synced = True
            self._notify(SYNCED)

    def _troubled(self, error: SeamarkError, *, silent: bool) -> None:
        self.stale = isinstance(error, Retry) and (self.stale or silent)
        self._progressed()
        message = plain(error, self.kind.RESOURCE)
        if message != self.trouble:
            log.warning("watch interrupted", kind=self.kind.RESOURCE.kind, error=message)
        self.trouble = message
