"""Several replicas, one leader: whatever happens to one of them, only the leader's writes are sent.

- Two operators on one store, each a process of its own that can freeze, be cut off, die or be asked to stop.
- People edit all the while, so that there is always something to write.
- At every write, when it is sent and when it takes effect, and at every remote call, its sender holds the
  Lease in the store.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Coroutine
from datetime import datetime
from random import Random
from typing import Any, TypeVar

from seamark.families.sample.family import GREETING
from seamark_cluster.embedded import EmbeddedTransport, Pace, Store
from seamark_cluster.embedded import Settings as StoreSettings
from seamark_runtime.operator import Operator
from seamark_runtime.operator import World as OperatorWorld
from seamark_runtime.settings import Settings
from seamark_runtime.transport import Answer, HttpRequest, NoAnswerError, Stream
from tests.greetings import greeting_controller
from tests.simulation.faults import Fault, Plan
from tests.simulation.invariants import check_purity
from tests.simulation.loop import Process, outside
from tests.simulation.sample import acts
from tests.simulation.sample.acts import GREETINGS, NAMESPACE
from tests.simulation.sample.board import TwinBoard
from tests.simulation.scenario import Violation
from tests.simulation.world import SimClock, tried_twice

V = TypeVar("V")

LEASE = "leases.coordination.k8s.io"
HOME = "seamark-system"
SETTINGS = Settings(workers=4, stop_grace=1, watch_idle=4000, watch_lifetime=40_000, namespace=HOME, lease_duration=15)
EDITS, PAUSE = 12, 4.0
LATENCY = 0.002
BOUND = 120.0


class ReplicaClock:
    """A machine's clocks: while it is suspended, the monotonic one does not advance."""

    def __init__(self, world: SimClock) -> None:
        self.suspended = 0.0
        self._world = world

    def monotonic(self) -> float:
        return self._world.monotonic() - self.suspended

    def boottime(self) -> float:
        return self._world.monotonic()

    def wall(self) -> datetime:
        return self._world.wall()


class Replica:
    """One process and its way to the API server."""

    def __init__(self, election: Election, name: str) -> None:
        self.name = name
        self.process = Process(asyncio.get_running_loop())
        self.dead = False
        self._election = election
        self._inner = EmbeddedTransport(election.store, agent=name)
        self._cut_off: dict[Fault, float] = {}
        self.clock = ReplicaClock(election.clock)
        world = OperatorWorld(self, self.clock, Random(name), name)
        controller = greeting_controller(Remote(self, election))
        operator = Operator(world, tried_twice([controller], election.impure, name), SETTINGS)
        self.life = self.process.start(operator.run())

    def cut_off(self, fault: Fault) -> None:
        self._cut_off[fault] = self._election.clock.monotonic() + 60

    def _passes(self, request: HttpRequest) -> None:
        now, cut = self._election.clock.monotonic(), self._cut_off
        lost = "/leases" in request.path and cut.get(Fault.RENEW_LOST, -1) > now
        if self.dead or lost or cut.get(Fault.PARTITION, -1) > now:
            raise NoAnswerError("no route to host", sent=False)

    async def send(self, request: HttpRequest) -> Answer:
        self._passes(request)
        election = self._election
        if "/leases" in request.path or not request.writes:
            return await self.beyond(self._arrive(request))
        election.holds_lease(self, f"sends {request.method} {request.path}")
        number = election.count()
        faults = election.plan.get(number, ())
        if Fault.CRASH_BEFORE in faults:
            election.kill(self)
        answer = await self.beyond(self._arrive(request))
        for fault in faults:
            election.befall(fault, self)
        return answer

    async def beyond(self, work: Coroutine[Any, Any, V]) -> V:
        """What happens outside of the process goes on while it is frozen."""
        return await asyncio.get_running_loop().create_task(work, context=outside())

    async def _arrive(self, request: HttpRequest) -> Answer:
        await asyncio.sleep(LATENCY)
        election = self._election
        if request.writes and "/leases" not in request.path:
            election.holds_lease(self, f"writes {request.method} {request.path}")
        answer = await self._inner.send(request)
        if request.writes:
            election.record(self, request, answer)
        await asyncio.sleep(LATENCY)
        return answer

    def stream(self, request: HttpRequest) -> Any:
        return _Stream(self, request)

    def open(self, request: HttpRequest) -> Any:
        self._passes(request)
        return self._inner.stream(request)

    async def close(self) -> None:
        pass


class _Stream:
    """A watch of a replica: it opens only where something passes."""

    def __init__(self, replica: Replica, request: HttpRequest) -> None:
        self._replica = replica
        self._request = request
        self._inner: Any = None

    async def __aenter__(self) -> Stream:
        self._inner = self._replica.open(self._request)
        stream: Stream = await self._inner.__aenter__()
        return stream

    async def __aexit__(self, *error: object) -> None:
        await self._inner.__aexit__(*error)


class Remote:
    """The board as one replica reaches it."""

    def __init__(self, replica: Replica, election: Election) -> None:
        self._replica = replica
        self._election = election

    async def post(self, board: str, owner: str, text: str) -> None:
        self._election.holds_lease(self._replica, f"posts {text!r}")
        await self._replica.beyond(self._election.board.post(board, owner, text))

    async def retract(self, board: str, owner: str) -> None:
        self._election.holds_lease(self._replica, "takes a post down")
        await self._replica.beyond(self._election.board.retract(board, owner))


class Election:
    """The world of several replicas."""

    def __init__(self, seed: int, plan: Plan) -> None:
        self.clock = SimClock()
        pace = Pace(bookmark=1800, lifetime=50_000)
        self.store = Store(clock=self.clock, chance=Random(seed), settings=StoreSettings(pace=pace, controllers=False))
        self.plan: dict[int, list[Fault]] = defaultdict(list)
        for injection in plan:
            self.plan[injection.request].append(injection.fault)
        self.board = TwinBoard()
        self.board.world = self  # type: ignore[assignment]  # all that it needs of a world
        self.outside = self.board
        self.requests = 0
        self.story: list[str] = []
        self.lines: list[bytes] = []
        self.writes = 0
        self.impure: list[str] = []
        self._replicas: list[Replica] = []
        self._violation: Violation | None = None
        self._names = 0

    def under(self, _fault: Fault) -> bool:
        return False

    def tell(self, words: str) -> None:
        self.story.append(f"{self.clock.monotonic():12.3f}  {words}")

    def count(self) -> int:
        self.requests += 1
        return self.requests

    # ---- replicas

    def start(self) -> None:
        self._names += 1
        self._replicas.append(Replica(self, f"replica-{self._names}"))
        self.tell(f"replica-{self._names} starts")

    def kill(self, replica: Replica) -> None:
        self.tell(f"{replica.name} dies")
        replica.dead = True
        self._replace(replica, 2.0)
        raise NoAnswerError("this process is dead", sent=False)

    def _replace(self, replica: Replica, seconds: float) -> None:
        replica.life.cancel()
        self._replicas.remove(replica)
        asyncio.get_running_loop().call_later(seconds, self.start, context=outside())

    def befall(self, fault: Fault, replica: Replica) -> None:
        if fault is Fault.CRASH_BEFORE:
            return
        self.tell(f"{replica.name}: {fault.value}")
        match fault:
            case Fault.PAUSE:
                replica.process.pause(40)
            case Fault.SUSPEND:
                replica.process.pause(40)
                replica.clock.suspended += 40
            case Fault.RENEW_LOST | Fault.PARTITION:
                replica.cut_off(fault)
            case Fault.STOP:
                self._replace(replica, 1.0)
            case Fault.CRASH_AFTER:
                self.kill(replica)
            case Fault.CLOCK_BACK:
                self.clock.offset -= 3600
            case Fault.CLOCK_FORTH:
                self.clock.offset += 3600

    # ---- the promise

    def holds_lease(self, replica: Replica, words: str) -> None:
        lease = self.store.get(LEASE, HOME, "seamark")
        holder = lease["spec"].get("holderIdentity") if lease else None
        if holder != replica.name:
            broken = Violation("one leader", f"{replica.name} {words}, and the lease is {holder}'s")
            self.tell(f"!!! {broken}")
            self._violation = self._violation or broken

    def record(self, replica: Replica, request: HttpRequest, answer: Answer) -> None:
        line = f"{replica.name} {request.method} {request.path} → {answer.status}"
        self.lines.append(f"{self.clock.monotonic():.6f} {line} ".encode() + request.body)
        if "/leases" not in request.path:
            self.writes += 1
            self.tell(line)

    # ---- what people do, and what is true

    async def drive(self) -> None:
        self.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})
        self.store.create(GREETING.manifest())
        self.start()
        self.start()
        world: Any = self
        acts.create(world, "posted", text="0", board="quay")
        for number in range(1, EDITS):
            await asyncio.sleep(PAUSE)
            self.tell(f"=== another text: {number}")
            acts.edit(world, "posted", text=str(number))
        await self._rest(self._unsettled)
        before = self.writes
        await asyncio.sleep(BOUND)
        if self.writes > before:
            raise Violation("at rest", "somebody wrote")
        acts.delete(world, "posted")
        await self._rest(self._left)
        check_purity(self.impure)

    async def _rest(self, unsettled: Any) -> None:
        deadline = self.clock.monotonic() + BOUND
        while True:
            await asyncio.sleep(1)
            if self._violation is not None:
                raise self._violation
            words = unsettled()
            if not words:
                return
            if self.clock.monotonic() > deadline:
                raise Violation("convergence", words)

    def _unsettled(self) -> str:
        obj = self.store.get(GREETINGS, NAMESPACE, "posted")
        assert obj is not None
        text = str(EDITS - 1)
        config_map = self.store.get("configmaps", NAMESPACE, "posted")
        if config_map is None or config_map["data"] != {"text": text}:
            return "the ConfigMap has another text"
        if list(self.board.posts.values()) != [text]:
            return f"on the board is {self.board.posts}"
        ready = [c for c in obj["status"]["conditions"] if c["type"] == "Ready"]
        if ready[0]["status"] != "True" or ready[0]["observedGeneration"] != obj["metadata"]["generation"]:
            return f"Ready is {ready}"
        return ""

    def _left(self) -> str:
        world: Any = self
        acts.collect_garbage(world)
        return "something is left" if self.store.objects(GREETINGS) or self.board.posts else ""

    async def end(self) -> None:
        for replica in self._replicas:
            replica.dead = True
            replica.life.cancel()
        await asyncio.gather(*(replica.life for replica in self._replicas), return_exceptions=True)
