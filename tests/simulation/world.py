"""A whole world for one schedule: the store, the remote side, the lives of the operator, and a log of what happened."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

from prometheus_client import generate_latest

from seamark_cluster.embedded import Pace, Store
from seamark_cluster.embedded import Settings as StoreSettings
from seamark_runtime.api.meta import Object
from seamark_runtime.controller import Declaration
from seamark_runtime.operator import Operator
from seamark_runtime.operator import World as OperatorWorld
from seamark_runtime.settings import Settings
from seamark_runtime.transport import Answer, HttpRequest
from tests.purity import checked
from tests.simulation.administration import Administration
from tests.simulation.faults import RESTORES, Fault, Plan
from tests.simulation.invariants import OwnWrites
from tests.simulation.scenario import Violation
from tests.simulation.transport import Link
from tests.simulation.writes import Write

if TYPE_CHECKING:
    from tests.simulation.scenario import Scenario

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
BUMP = 1_000_000  # revisions that a careful restore leaves out, so that none is used twice
MOST_REQUESTS = 1500  # of one schedule: fifty times as many as it takes without faults
PURITY_CHECKS = 0.005  # the share of calls of pure functions that are tried twice
REBIRTH = 2.0  # seconds from a crash to the next start
SETTINGS = Settings(
    leader_election=False,
    workers=8,
    stop_grace=0,
    watch_idle=4000,
    watch_lifetime=40_000,
    single_reads=200_000,
    health_address="",
)


class SimClock:
    """The loop's time; the wall clock can be made to jump."""

    def __init__(self) -> None:
        self.offset = 0.0

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def boottime(self) -> float:
        return self.monotonic()

    def wall(self) -> datetime:
        return EPOCH + timedelta(seconds=self.monotonic() + self.offset)


def tried_twice(declared: Iterable[Declaration], impure: list[str], seed: str) -> list[Declaration]:
    """Their functions are tried twice now and then: what is impure is a violation."""
    chance = Random(f"purity {seed}")
    return [checked(controller, impure, lambda: chance.random() < PURITY_CHECKS) for controller in declared]


class World:
    def __init__(self, scenario: Scenario, seed: int, plan: Plan) -> None:
        self.scenario = scenario
        self.random = Random(seed)
        self.clock = SimClock()
        self.plan: dict[int, list[Fault]] = defaultdict(list)
        for injection in plan:
            self.plan[injection.request].append(injection.fault)
        self.store = Store(
            clock=self.clock,
            chance=Random(seed),
            settings=StoreSettings(pace=Pace(bookmark=1800, lifetime=50_000), controllers=False),
        )
        self.outside = scenario.outside()
        self._administration = Administration(self.store)
        self.requests = 0
        self.writes: list[Write] = []
        self.own_writes = OwnWrites()
        self.story: list[str] = []
        self.cuts = 0
        self.silences = 0
        self.befallen: list[Fault] = []
        self._until: dict[Fault, float] = {}
        self._operator: Operator | None = None
        self._life: asyncio.Task[None] | None = None
        self._link: Link | None = None
        self._lives = 0
        self.troubles = 0
        self.last_trouble = 0.0  # when the last fault ended, as far as is known
        self.acted = 0.0  # when the cluster was last acted on
        self.acts: list[float] = []
        self.intentions = 0  # acts that wait for their moment
        self.failures: list[tuple[float, str, str]] = []  # (time, method, path) of requests that had no good answer
        self.operator_is_writing = False
        self._restored_to = 0  # the last revision that both timelines share
        self._followed: set[str] = set()  # paths of watches
        self._unaware: set[str] = set()  # those that have not listed again since
        self._to_repeat: set[str] = set()  # kinds whose next watch begins with what was sent last
        self._violation: Violation | None = None
        self.impure: list[str] = []  # what was found of functions that are to be pure

    def install(self, manifests: Iterable[dict[str, Any]]) -> None:
        """What is in the cluster before anybody comes: the kinds, and what the operator may do."""
        for manifest in manifests:
            self.store.create(manifest)
        self.scenario.attach(self)
        self._administration.install(self.scenario.controllers(self.outside))

    # ---- the operator's lives

    def live(self) -> None:
        """Starts the operator, a new process each time."""
        self._unaware = set()
        self._lives += 1
        self._link = Link(self)
        world = OperatorWorld(self._link, self.clock, Random(f"{self._lives}"), f"operator-{self._lives}")
        controllers = self.scenario.controllers(self.outside)
        self._operator = Operator(world, tried_twice(controllers, self.impure, f"{self._lives}"), SETTINGS)
        self._life = asyncio.get_running_loop().create_task(self._operator.run())
        self.tell(f"the operator starts (life {self._lives})")

    def crashed(self) -> None:
        """The process is dead; another one comes."""
        self.tell("the operator's process dies")
        self.last_trouble = max(self.last_trouble, self.clock.monotonic() + REBIRTH)
        life, loop = self._life, asyncio.get_running_loop()
        if life is not None:
            life.cancel()
        loop.call_later(REBIRTH, self.live)

    def restart_operator(self) -> None:
        if self._link is not None and not self._link.dead:
            self._link.dead = True
            self.crashed()

    async def end(self) -> None:
        if self._life is not None:
            self._life.cancel()
            await asyncio.gather(self._life, return_exceptions=True)

    @property
    def idle(self) -> bool:
        """The operator lives and has nothing to do, and no act on the cluster is due."""
        if self._operator is None or self._link is None or self._link.dead or self.intentions:
            return False
        return self._operator.quiet and not self._operator.events.held

    @property
    def restores(self) -> list[Fault]:
        return [fault for fault in self.befallen if fault in RESTORES]

    @property
    def lives(self) -> int:
        return self._lives

    def followed(self, kind: type[Object]) -> int:
        """How many single objects of this kind the operator follows."""
        return 0 if self._operator is None else len(self._operator.followers[kind])

    def metrics(self) -> str:
        return "" if self._operator is None else generate_latest(self._operator.metrics.registry).decode()

    # ---- faults of the world

    def count(self, request: HttpRequest) -> int:
        self.requests += 1
        if {"", ".", ".."} & set(request.path[1:].split("/")):
            with self.watching():
                raise Violation("paths", f"{request.method} {request.path} leads elsewhere")
        if self.requests > MOST_REQUESTS:
            with self.watching():
                raise Violation("bounded retries", f"more than {MOST_REQUESTS} requests")
        return self.requests

    @property
    def flooded(self) -> bool:
        return self.requests > MOST_REQUESTS

    def befall(self, fault: Fault) -> None:
        self.tell(fault.value)
        self.befallen.append(fault)
        match fault:
            case Fault.CUT:
                self.cuts += 1
            case Fault.DUPLICATES:
                self._to_repeat = set(self.store.revisions.resources())
                self.store.restart()
            case Fault.GONE:
                self.store.revisions.current += 1  # something was written elsewhere, so that no cache is up to date
                self.store.compact()
                self.store.restart()
            case Fault.HALF_OPEN:
                self.silences += 1
                self.trouble(SETTINGS.watch_idle + 60)
            case Fault.RESTART:
                self.store.restart()
                self._lasts(fault, 5)
            case Fault.RESTORE | Fault.RESTORE_BUMPED:
                self.scenario.restore(self)
                self._set_right()
                self._restored_to = self.store.revisions.current
                self._unaware = set(self._followed)
                if fault is Fault.RESTORE_BUMPED:
                    self._unaware = set()
                    self.store.revisions.current += BUMP
                    self.store.compact()
            case Fault.NAMESPACE | Fault.RBAC | Fault.QUOTA:
                self._administer(fault)
            case Fault.CLOCK_BACK:
                self.clock.offset -= 3600
            case Fault.CLOCK_FORTH:
                self.clock.offset += 3600
            case _:
                self._lasts(fault, 60)

    def _administer(self, fault: Fault) -> None:
        if fault is Fault.NAMESPACE:
            self._administration.end_namespaces()
            self.scenario.empty(self)
        elif fault is Fault.RBAC:
            self._administration.withdraw()
        else:
            self._administration.limit()
        self._lasts(fault, 10 if fault is Fault.NAMESPACE else 60)

    def _lasts(self, fault: Fault, seconds: float) -> None:
        self._until[fault] = self.clock.monotonic() + seconds
        self.trouble(seconds)
        asyncio.get_running_loop().call_later(seconds + 0.01, self._set_right)  # surely after it, however times round

    def _set_right(self) -> None:
        """Administrators undo what they did, as soon as they may; also what a restore has brought back."""
        administration = self._administration
        if not self.under(Fault.RBAC):
            administration.give_back()
        if not self.under(Fault.QUOTA):
            administration.lift()
        if self._until.get(Fault.NAMESPACE, -1.0) <= self.clock.monotonic():
            administration.renew_namespaces()
            if administration.ending:  # something in it has a finalizer
                asyncio.get_running_loop().call_later(1.0, self._set_right)

    def trouble(self, seconds: float) -> None:
        self.troubles += 1
        self.last_trouble = max(self.last_trouble, self.clock.monotonic() + seconds)

    def under(self, fault: Fault) -> bool:
        if fault is Fault.NAMESPACE and self._administration.ending:
            return True
        return self._until.get(fault, -1.0) > self.clock.monotonic()

    @property
    def down(self) -> bool:
        return self.under(Fault.RESTART)

    def lag(self) -> float:
        return 30.0 if self.under(Fault.LAG) else 0.0

    def resumes(self, request: HttpRequest) -> None:
        """A watch resumes. From a version of a lost history that exists again, with other content, this can't be known.

        This is why Kubernetes asks administrators to restart all controllers after a restore that reuses revisions.
        """
        self._followed.add(request.path)
        if "sendInitialEvents" in request.query:
            self._unaware.discard(request.path)
        version = int(request.query.get("resourceVersion") or 0)
        if request.path in self._unaware and self._restored_to < version <= self.store.revisions.current:
            self.tell("the administrator restarts the operator, as after any restore")
            self.restart_operator()

    def sent_last(self, request: HttpRequest) -> bytes:
        """After a cut with duplicates: the event of the very version from which a watch resumes, once more."""
        resource = _resource(request.path)
        version = request.query.get("resourceVersion", "")
        if resource not in self._to_repeat or not version.isdigit():
            return b""
        self._to_repeat.discard(resource)
        for event in self.store.revisions.since(resource, int(version) - 1):
            if event.revision == int(version):
                kind, obj = ("DELETED", event.gone()) if event.new is None else ("MODIFIED", event.new)
                return json.dumps({"type": kind, "object": obj}).encode() + b"\n"
        return b""

    # ---- the record

    @contextmanager
    def operator_writes(self) -> Iterator[None]:
        """What changes meanwhile is the operator's doing."""
        self.operator_is_writing = True
        try:
            yield
        finally:
            self.operator_is_writing = False

    def failed(self, request: HttpRequest) -> None:
        self.failures.append((self.clock.monotonic(), request.method, request.path))

    def record(self, number: int, request: HttpRequest, answer: Answer, fault: Fault | None) -> None:
        if not request.writes or request.path.endswith("reviews"):
            return  # a review asks for something, and changes nothing
        try:
            told = json.loads(answer.body)
        except ValueError:
            told = {}
        write = Write(
            time=self.clock.monotonic(),
            number=number,
            method=request.method,
            path=request.path,
            body=request.body,
            code=answer.status,
            answer=told,
            fault=fault,
            life=self._lives,
            manager=request.query.get("fieldManager", ""),
        )
        self.writes.append(write)
        faulty = f"   ({fault.value})" if fault else ""
        self.tell(f"#{number} {request.method} {request.path} → {answer.status}{faulty}")
        with self.watching():
            if not self.restores:  # afterwards versions mean nothing to a process that saw what was lost
                self.own_writes.check(write)
            self.scenario.wrote(self, write)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Keeps a violation for `check`: raised here, it would end in the operator's own error handling.

        The same holds for an oracle that fails: it has judged nothing, and that must not look like trust.
        """
        try:
            yield
        except Violation as broken:
            self._found(broken)
        except Exception as mistake:
            where = traceback.extract_tb(mistake.__traceback__)[-1]
            self._found(Violation("oracle", f"{where.name} failed: {mistake!r}"))

    def _found(self, broken: Violation) -> None:
        self.tell(f"!!! {broken}")
        self._violation = self._violation or broken

    def act(self, words: str) -> None:
        self.acted = self.clock.monotonic()
        self.acts.append(self.acted)
        self.tell(f"=== {words}")

    def check(self) -> None:
        """Raises what was found at a write, and notices an operator that has ended by itself."""
        life = self._life
        if life is not None and life.done() and not (self._link is None or self._link.dead):
            raise Violation("never ends", f"the operator ended: {life.exception()!r}")
        if self._violation is not None:
            raise self._violation

    def tell(self, words: str) -> None:
        self.story.append(f"{self.clock.monotonic():12.3f}  {words}")

    def log(self) -> bytes:
        """The bytes that two runs of one schedule must share."""
        return b"\n".join(write.line() for write in self.writes)


def _resource(path: str) -> str:
    """`plural` or `plural.group` of the collection at a path."""
    parts = path.strip("/").split("/")
    return f"{parts[-1]}.{parts[1]}" if parts[0] == "apis" else parts[-1]
