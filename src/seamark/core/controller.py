"""What a family declares. Everything else is the loop's.

- `Controller`: one key per object of a kind; its status is judged and written.
- `Group`: one key for work done for many at once; what it finds out about each is left as a report, from which the
  controllers of those objects judge.
- `observe` reads a `View` and returns a frozen value, or None when there is nothing to do. `desire`, `judge` and
  `report` are pure: no client, no clock, no asyncio.
- RBAC follows from the declaration: what is read, made, marked and said (`core.rbac`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from prometheus_client.registry import Collector

from seamark.api.meta import Key, Object
from seamark.core.apply import Answers
from seamark.core.cache import Index
from seamark.core.calls import Call, Results
from seamark.core.events import Notice
from seamark.core.ownership import ByReference, Ownership
from seamark.core.rivals import Rivals
from seamark.core.scope import EVERYTHING, Scope
from seamark.core.source import Reports, Source
from seamark.core.status import StatusMode
from seamark.core.view import View

S = TypeVar("S")


@dataclass(frozen=True)
class Wanted:
    """What should be so.

    - `children` by role, `calls` to the outside, our `annotations` on the object itself.
    - `finalizer`: whether ours should be on the object. It is put there, and acknowledged, before the first call.
    """

    children: Mapping[str, Object] = field(default_factory=dict)
    calls: tuple[Call[Any], ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    finalizer: bool = False


@dataclass(frozen=True, kw_only=True)
class Declared(Generic[S]):
    """What both kinds of key have in common."""

    name: str
    desire: Callable[[S], Wanted]
    reads: tuple[type[Object], ...] = ()
    optional: tuple[type[Object], ...] = ()  # kinds it reads that may not be installed: then there are none of them
    singles: tuple[type[Object], ...] = ()  # kinds of which it reads single objects by name, and never lists them
    scopes: Mapping[type[Object], Scope] = field(default_factory=dict)  # kinds of which it needs only a part
    kept: tuple[type[Object], ...] = ()  # kinds of children that are followed by name alone, and never pruned: Secrets
    reviews: bool = False  # whether it asks what we may do (`View.may`)
    indexes: tuple[Index[Any], ...] = ()
    sources: tuple[Source, ...] = ()  # facts and reports that must have synced before a key is observed
    children: tuple[type[Object], ...] = ()
    ownership: Ownership = field(default_factory=ByReference)
    manager: str = "seamark"  # in whose name children are written, and our marks on the object itself
    perform: Callable[[Any], Awaitable[Any]] | None = None  # carries out the action of a call
    spacing: float = 0.0  # seconds between two passes of a key: for keys that many changes touch
    collectors: tuple[Collector, ...] = ()  # metrics of the family's own, made without a registry
    rivals: Rivals | None = None  # who else may answer to the name that makes these keys ours
    companions: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = ()  # what runs beside the workers of the leader


@dataclass(frozen=True, kw_only=True)
class Controller(Declared[S]):
    kind: type[Object]
    observe: Callable[[View, Any, Results], S | None]  # (view, the object, answers to its calls)
    judge: Callable[[S, Answers], Any]
    status: StatusMode
    announce: Callable[[S, Answers], Iterable[Notice]] | None = None
    finalizer: str = ""
    former: tuple[str, ...] = ()  # finalizers of a predecessor: ours takes their place
    annotations: tuple[str, ...] = ()  # those on the object itself that are ours
    shelf_life: float = 60.0  # how long a word said before a restart stands without new evidence
    linger: float = 1.0  # how long a first statement may wait for answers that are under way


@dataclass(frozen=True, kw_only=True)
class Group(Declared[S]):
    keyed: Mapping[type[Object], Callable[[Any], Iterable[Key]]]  # which keys an object belongs to, by its intent
    observe: Callable[[View, Key, Results], S | None]
    report: Callable[[S, Answers], Mapping[Hashable, Any]]
    reports: Reports[Any]
    always: tuple[Key, ...] = ()  # keys that are there without any object
    amends: bool = False  # `report` has what is new, None for what is taken back; not all that there is to say
    subjects: tuple[Reports[Any], ...] = ()  # whatever key these speak about is a key of this group, too


def guarded(rivals: Rivals, *declared: Controller[Any] | Group[Any]) -> tuple[Controller[Any] | Group[Any], ...]:
    """These stand back while somebody else answers to the name that makes their objects ours."""
    return tuple(replace(one, rivals=rivals) for one in declared)


def kinds(declared: Controller[Any] | Group[Any]) -> tuple[type[Object], ...]:
    """Every kind that must be followed for these keys, each once."""
    keyed = (declared.kind,) if isinstance(declared, Controller) else tuple(declared.keyed)
    return tuple(dict.fromkeys((*keyed, *declared.children, *declared.reads, *declared.optional)))


def scope(declared: Controller[Any] | Group[Any], kind: type[Object]) -> Scope:
    """How much of a kind is followed for these keys."""
    return declared.scopes.get(kind, EVERYTHING)
