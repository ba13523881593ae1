"""What a family declares. Everything else is done by the runtime.

- `Controller`: one request per object of a kind; its status is judged and written.
- `CollectionController`: one request for work that is done for many objects at once; the result is an entry about each
  of them, from which the controllers of those objects judge.
- `observe` reads a `View` and returns a frozen value, or None when there is nothing to do. `desire`, `judge` and
  `report` are pure: no client, no clock, no asyncio.
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
from seamark_runtime.ownership import ByReference, Children, Ownership
from seamark_runtime.scope import EVERYTHING, Scope
from seamark_runtime.source import Collection, Source
from seamark_runtime.status import StatusMode
from seamark_runtime.view import View

S = TypeVar("S")


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
class Declared(Generic[S]):
    """What both kinds of controllers declare."""

    name: str
    desire: Callable[[S], Wanted]
    reads: tuple[type[Object], ...] = ()
    optional: tuple[type[Object], ...] = ()  # kinds it reads that may not be installed; then none of them exist
    singles: tuple[type[Object], ...] = ()  # kinds of which it reads single objects by name and never lists them
    scopes: Mapping[type[Object], Scope] = field(default_factory=dict)  # kinds of which it needs only a part
    kept: tuple[type[Object], ...] = ()  # kinds of children that are followed by name alone, and never pruned: Secrets
    reviews: bool = False  # whether it asks for our own rights (`View.may`)
    indexes: tuple[Index[Any], ...] = ()
    sources: tuple[Source, ...] = ()  # facts and collections that must have synced before a key is observed
    children: tuple[type[Object], ...] = ()
    ownership: Ownership = field(default_factory=ByReference)
    children_in: str = ""  # the namespace of the installation that holds all children; empty: that of the owner
    manager: str = "seamark"  # field manager of children, and of our finalizer and annotations on the object
    perform: Callable[[Any], Awaitable[Any]] | None = None  # performs the action of a call
    spacing: float = 0.0  # least seconds between two reconciles of a key, for keys that many changes concern
    collectors: tuple[Collector, ...] = ()  # metrics of the family, created without a registry
    competing: CompetingControllers | None = None  # detection of another controller with our name
    companions: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = ()  # tasks beside the workers of the leader


@dataclass(frozen=True, kw_only=True)
class Controller(Declared[S]):
    kind: type[Object]
    observe: Callable[[View, Any, Results], S | None]  # (view, the object, results of its calls)
    judge: Callable[[S, Answers], Any]
    status: StatusMode
    announce: Callable[[S, Answers], Iterable[Notice]] | None = None
    finalizer: str = ""
    former: tuple[str, ...] = ()  # finalizers of a predecessor, replaced by ours
    annotations: tuple[str, ...] = ()  # on the object itself, owned by us
    shelf_life: float = 60.0  # how long a status from before a restart stays without new evidence
    linger: float = 1.0  # how long a first status may wait for results in progress


@dataclass(frozen=True, kw_only=True)
class CollectionController(Declared[S]):
    keyed: Mapping[type[Object], Callable[[Any], Iterable[Key]]]  # the keys that an object is a member of, by its spec
    observe: Callable[[View, Key, Results], S | None]
    report: Callable[[S, Answers], Mapping[Hashable, Any]]
    reports: Collection[Any]
    always: tuple[Key, ...] = ()  # keys that exist without any object
    amends: bool = False  # `report` returns changed entries only, None for removed ones
    subjects: tuple[Collection[Any], ...] = ()  # each subject of these is a key of this collection, too


Declaration = Controller[Any] | CollectionController[Any]


def guarded(
    competing: CompetingControllers, *declared: Declaration
) -> tuple[Controller[Any] | CollectionController[Any], ...]:
    """These leave an object alone while a competing controller reverts what we write."""
    return tuple(replace(one, competing=competing) for one in declared)


def kinds(declared: Declaration) -> tuple[type[Object], ...]:
    """Every kind that must be watched, each once."""
    keyed = (declared.kind,) if isinstance(declared, Controller) else tuple(declared.keyed)
    return tuple(dict.fromkeys((*keyed, *declared.children, *declared.reads, *declared.optional)))


def children(declared: Controller[Any] | CollectionController[Any]) -> Children:
    """How the children of these keys are found: where no tenant can put a forged one of another's."""
    return Children(declared.ownership, declared.children_in)


def scope(declared: Controller[Any] | CollectionController[Any], kind: type[Object]) -> Scope:
    """Which part of a kind is watched."""
    return declared.scopes.get(kind, EVERYTHING)
