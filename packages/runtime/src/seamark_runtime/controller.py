"""What a family declares. Everything else is done by the runtime.

- `Controller`: one request per object of a kind; its status is judged and written.
- `CollectionController`: one request for work that is done for many objects at once; the results are typed
  entries about each of them (`Output`), from which the controllers of those objects judge.
- `observe` reads a `View` and returns a frozen value, or None when there is nothing to do. `observe`, `desire`, `judge`
  and `report` are pure: no client, no clock, no asyncio; run twice on the same facts they return the same value and
  change nothing. What must be remembered between reconciles is a declared `Memory`.
- RBAC follows from the declaration: what is read, created, marked and published (`rbac`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from prometheus_client.registry import Collector

from seamark_runtime.api.meta import Key, Object
from seamark_runtime.apply import Answers
from seamark_runtime.cache import Index
from seamark_runtime.calls import Call, Results
from seamark_runtime.competing import CompetingControllers
from seamark_runtime.events import Notice
from seamark_runtime.memory import Memory
from seamark_runtime.ownership import ByReference, Children, InNamespace, Ownership
from seamark_runtime.scope import EVERYTHING, Scope
from seamark_runtime.source import Collection, Source
from seamark_runtime.status import StatusMode
from seamark_runtime.view import View

S = TypeVar("S")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True)
class Wanted:
    """The desired state.

    - `children` by role, remote `calls`, our `annotations` on the object itself.
    - `finalizer`: whether ours should be on the object. It is set, and acknowledged, before the first call.
    """

    children: Mapping[str, Object] = field(default_factory=dict)
    calls: tuple[Call[Any], ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    finalizer: bool = False


@dataclass(frozen=True, kw_only=True)
class Reads:
    """What `observe` reads, besides the objects that the controller is about."""

    kinds: tuple[type[Object], ...] = ()
    optional: tuple[type[Object], ...] = ()  # kinds that may not be installed; then none of them exist
    singles: tuple[type[Object], ...] = ()  # kinds of which single objects are read by name, and never listed
    scopes: Mapping[type[Object], Scope] = field(default_factory=dict)  # kinds of which only a part is needed
    indexes: tuple[Index[Any], ...] = ()
    sources: tuple[Source, ...] = ()  # facts and collections that must have synced before a key is observed


@dataclass(frozen=True, kw_only=True)
class Writes:
    """What is written on behalf of the controller, besides a status."""

    children: tuple[type[Object], ...] = ()
    kept: tuple[type[Object], ...] = ()  # kinds of children that are followed by name alone, and never pruned: Secrets
    ownership: Ownership = field(default_factory=ByReference)
    manager: str = "seamark"  # field manager of children, and of our finalizer and annotations on the object
    finalizers: tuple[str, ...] = ()  # ours; behind it those of predecessors, which it replaces
    annotations: tuple[str, ...] = ()  # on the object itself, owned by us

    @property
    def finalizer(self) -> str:
        """Ours; empty if there is none."""
        return self.finalizers[0] if self.finalizers else ""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """In seconds."""

    spacing: float = 0.0  # least time between two reconciles of a key, for keys that many changes concern
    shelf_life: float = 60.0  # how long a status from before a restart stays without new evidence
    linger: float = 1.0  # how long a first status may wait for results in progress


@dataclass(frozen=True)
class Companion:
    """A task beside the workers of the leader; one that is `lasting` goes on between the terms of this process."""

    run: Callable[[], Coroutine[Any, Any, None]]
    lasting: bool = False


@dataclass(frozen=True, kw_only=True)
class Declared(Generic[S]):
    """What both kinds of controllers declare."""

    name: str
    desire: Callable[[S], Wanted]
    reads: Reads = field(default_factory=Reads)
    writes: Writes = field(default_factory=Writes)
    timing: Timing = field(default_factory=Timing)
    memory: Memory | None = None
    perform: Callable[[Any], Awaitable[Any]] | None = None  # performs the action of a call
    companions: tuple[Companion, ...] = ()
    collectors: tuple[Collector, ...] = ()  # metrics of the family, created without a registry
    competing: CompetingControllers | None = None  # detection of another controller with our name


@dataclass(frozen=True, kw_only=True)
class Controller(Declared[S]):
    kind: type[Object]
    observe: Callable[[View, Any, Results], S | None]  # (view, the object, results of its calls)
    judge: Callable[[S, Answers], Any]
    status: StatusMode
    announce: Callable[[S, Answers], Iterable[Notice]] | None = None


@dataclass(frozen=True)
class Output(Generic[S, K, V]):
    """A collection that a controller writes, and all entries of a key in it."""

    collection: Collection[K, V]
    report: Callable[[S, Answers], Mapping[K, V]]

    def publish(self, writer: Key, seen: S, answers: Answers) -> bool:
        """Whether there are entries."""
        entries = self.report(seen, answers)
        self.collection.publish(writer, entries)
        return bool(entries)


@dataclass(frozen=True)
class ChangedOutput(Generic[S, K, V]):
    """A collection that a controller writes, and the changed entries of a key in it: None for one that is removed."""

    collection: Collection[K, V]
    report: Callable[[S, Answers], Mapping[K, V | None]]

    def publish(self, writer: Key, seen: S, answers: Answers) -> bool:
        """Whether there are changes."""
        entries = self.report(seen, answers)
        self.collection.amend(writer, entries)
        return bool(entries)


@dataclass(frozen=True, kw_only=True)
class CollectionController(Declared[S]):
    keyed: Mapping[type[Object], Callable[[Any], Iterable[Key]]]  # the keys that an object is a member of, by its spec
    observe: Callable[[View, Key, Results], S | None]
    outputs: tuple[Output[S, Any, Any] | ChangedOutput[S, Any, Any], ...] = ()
    always: tuple[Key, ...] = ()  # keys that exist without any object
    subjects: tuple[Collection[Key, Any], ...] = ()  # each subject of these is a key of this collection, too


Declaration = Controller[Any] | CollectionController[Any]


def guarded(competing: CompetingControllers, *declared: Declaration) -> tuple[Declaration, ...]:
    """These leave an object alone while a competing controller reverts what we write."""
    return tuple(replace(controller, competing=competing) for controller in declared)


def kinds(declared: Declaration) -> tuple[type[Object], ...]:
    """Every kind that must be watched, each once."""
    keyed = (declared.kind,) if isinstance(declared, Controller) else tuple(declared.keyed)
    return tuple(dict.fromkeys((*keyed, *declared.writes.children, *declared.reads.kinds, *declared.reads.optional)))


def children(declared: Declaration) -> Children:
    """How the children of these keys are found: where no tenant can put a forged one of another's."""
    ownership = declared.writes.ownership
    return Children(ownership, ownership.namespace if isinstance(ownership, InNamespace) else "")


def scope(declared: Declaration, kind: type[Object]) -> Scope:
    """Which part of a kind is watched."""
    return declared.reads.scopes.get(kind, EVERYTHING)
