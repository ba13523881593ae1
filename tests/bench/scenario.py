"""What a family tells the benchmark: which objects, when they are done, and what the least work for them is."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from seamark_runtime.api.crd import CRD
from seamark_runtime.api.meta import Object, Resource
from seamark_runtime.controller import Declaration
from seamark_runtime.errors import UserError

if TYPE_CHECKING:
    from tests.bench.report import Finished

# A family registers here: the module that has its SCENARIO and, where the standard course does not fit, a `bench`.
FAMILIES = {
    "cluster": "tests.bench.families.cluster",
    "bindings": "tests.bench.families.bindings",
    "core": "tests.bench.families.core",
    "dns": "tests.bench.families.dns",
    "gateway": "tests.bench.families.gateway",
    "score": "tests.bench.families.score",
    "loadbalancer": "tests.bench.families.loadbalancer",
}


class Sort(enum.Enum):
    """Which objects are made."""

    PLAIN = "small, and nothing about them ages"
    LARGE = "2 KB each"
    AGEING = "with evidence that is verified again and again, where the family has such"


@dataclass(frozen=True, slots=True)
class Write:
    """One request that changes something."""

    method: str
    path: str
    body: Any
    content_type: str = "application/json"


class Made(msgspec.Struct, frozen=True, rename="camel"):
    """What later writes need to know of the answer to an earlier one."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 1


@dataclass(frozen=True, slots=True)
class Targets:
    """What a run should reach; anything above is named in the report."""

    requests_per_object: float
    time_vs_floor: float = 1.3
    cpu_ms_per_object: float = 2.0
    rss_mb_per_1000: float = 10.0
    idle_writes: float = 0.0
    loop_lag_p99_ms: float = 50.0


class Scenario(Protocol):
    """One family under measurement.

    - `make` is the user's part: the write by which object `name` comes to be. Both sides of the comparison pay for it.
    - `work` is the operator's part, as the least that must be written for one object, in the order in which one write
      depends on another: it yields a write and is sent what the server answered. The bare client does exactly this.
    - `done` looks at an object of the watched kind and says whether a user would call it finished.
    - `controllers` are what the operator runs, with shelf lives and polls made short; `at_rest` is the longest of them.
    - `owners` of a child are the uids it belongs to: an object must end up with exactly one child of each kind.
    - `tear_down` lists the kinds to delete, in this order, between two measurements.
    """

    @property
    def crds(self) -> Sequence[CRD]: ...

    @property
    def watched(self) -> type[Object]: ...

    @property
    def children(self) -> Sequence[type[Object]]: ...

    @property
    def tear_down(self) -> Sequence[Resource]: ...

    @property
    def at_rest(self) -> float: ...

    @property
    def targets(self) -> Targets: ...

    def controllers(self) -> Sequence[Declaration]: ...

    def make(self, namespace: str, name: str, sort: Sort) -> Write: ...

    def work(self, made: Made) -> Generator[Write, Made, None]: ...

    def done(self, obj: Any) -> bool: ...

    def owners(self, child: Any) -> Iterable[str]: ...


def find(family: str) -> Scenario:
    if family not in FAMILIES:
        raise UserError(f"there is no benchmark of {family}", hint="there are " + ", ".join(sorted(FAMILIES)))
    scenario: Scenario = import_module(FAMILIES[family]).SCENARIO
    return scenario


def own_course(family: str) -> Callable[[Any, Callable[[str], None]], Awaitable[Finished]] | None:
    """The course of a family that the standard one does not fit: it prints its progress, and returns its result."""
    find(family)
    course: Callable[[Any, Callable[[str], None]], Awaitable[Finished]] | None
    course = getattr(import_module(FAMILIES[family]), "bench", None)
    return course
