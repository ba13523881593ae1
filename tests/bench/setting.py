"""Where a benchmark happens: a control plane of its own with the family's kinds, and one client for the user's part."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from seamark_cluster.real.plane import ControlPlane, Options, User
from tests.bench import process
from tests.bench.bare import Bare
from tests.bench.counting import Requests, count
from tests.bench.host import Disturbance, Machine, cpu_seconds, disturbance
from tests.bench.process import OperatorProcess, operator
from tests.bench.scenario import Scenario, Write, find
from tests.cluster.requests import install

HARNESS = "bench"
MASTERS = "system:masters"  # both sides: no request waits in a queue that the other does not know
NAMESPACES = "/api/v1/namespaces"
SYSTEM = "seamark-system"  # where the operator keeps its Lease
WORK = "bench"


@dataclass(frozen=True)
class Setting:
    plane: ControlPlane
    bare: Bare
    scenario: Scenario
    family: str

    @property
    def namespace(self) -> str:
        return WORK

    def operator(self) -> AbstractAsyncContextManager[OperatorProcess]:
        return operator(self.plane, self.family)

    def mark(self) -> int:
        return self.plane.audit.mark()

    def requests(self, since: int) -> Requests:
        """What the operator has asked for since a mark."""
        return count(self.plane.audit.entries(since), process.USER)

    async def clear(self) -> None:
        for resource in self.scenario.tear_down:
            await self.bare.delete_all(resource, self.namespace)

    def meter(self, running: OperatorProcess | None = None) -> Meter:
        components = {component.name: component.pid for component in self.plane.components}
        pids = {"bench": os.getpid(), **{name: pid for name, pid in components.items() if pid}}
        return Meter(pids | ({"operator": running.pid} if running else {}))


class Meter:
    """Reads clocks from its making on. `pids` are the processes that take part, by their names."""

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._pids = pids
        self._machine = Machine.now()
        self._cpu = self._used()
        self.began = time.monotonic()

    def read(self) -> Load:
        cpu = {name: used - self._cpu[name] for name, used in self._used().items()}
        return Load(cpu, disturbance(self._machine, Machine.now(), sum(cpu.values())))

    def _used(self) -> dict[str, float]:
        return {name: cpu_seconds(pid) for name, pid in self._pids.items()}


@dataclass(frozen=True)
class Load:
    """What the processes that took part have used, in CPU seconds, and what the others did meanwhile."""

    cpu: Mapping[str, float]
    disturbance: Disturbance

    @property
    def work(self) -> float:
        return sum(self.cpu.values())

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in sorted(self.cpu.items()))
        return f"CPU s: {parts}; {self.disturbance}"


@asynccontextmanager
async def setting(family: str) -> AsyncIterator[Setting]:
    """Kubernetes' own controllers are left out: they have no part in this, and would take from both sides' cores."""
    scenario = find(family)
    users = (User(process.USER, (MASTERS,)), User(HARNESS, (MASTERS,)))
    async with ControlPlane(Options(users=users, controllers=False)) as plane, Bare(plane, HARNESS) as bare:
        for crd in scenario.crds:
            await asyncio.to_thread(install, plane, crd)
        for name in (SYSTEM, WORK):
            await bare.write(Write("POST", NAMESPACES, {"metadata": {"name": name}}))
        await bare.warm()
        yield Setting(plane, bare, scenario, family)


def names(n: int) -> list[str]:
    return [f"object-{number:06}" for number in range(n)]
