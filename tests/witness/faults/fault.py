"""A fault: what is done, to what, for how long, and what may change by it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from tests.witness.api import Json, Key
from tests.witness.programs import send
from tests.witness.relay import Mode
from tests.witness.world import SHELF, World


class Break(Enum):
    """How the product can know of it."""

    SIGNALLED = "signalled"  # a watch, a closed connection
    SILENT = "silent"  # frozen, lost: only by asking
    NONE = "none"  # clients go on succeeding


HOLD = {Break.SIGNALLED: 8.0, Break.SILENT: SHELF + 8, Break.NONE: 10.0}


@dataclass(frozen=True)
class Fault:
    """`targets` are the objects whose claims it breaks; `touches`, if it touches more than these."""

    name: str
    family: str
    how: Break
    targets: tuple[Key, ...]
    inject: Callable[[], object]
    repair: Callable[[], object] = lambda: None
    touches: Callable[[Key], bool] | None = None
    hold: float = 0.0
    outage: bool = False
    mutes: bool = False
    families: frozenset[str] = frozenset()  # of an outage: those that it concerns
    breaks: frozenset[str] = frozenset()  # of an outage: those whose clients may fail

    @property
    def seconds(self) -> float:
        return self.hold or HOLD[self.how]

    def touched(self, key: Key) -> bool:
        return key in self.targets or (self.touches is not None and self.touches(key))


def named(namespace: str, *prefixes: str) -> Callable[[Key], bool]:
    """Objects of a namespace whose names start so."""
    return lambda key: key[1] == namespace and key[2].startswith(prefixes)


# ---- what is done to programs, Deployments and links


def scaled(world: World, namespace: str, name: str, replicas: int) -> Callable[[], object]:
    return lambda: world.api.merge(("Deployment", namespace, name), {"spec": {"replicas": replicas}})


def aimed(world: World, namespace: str, name: str, target: int) -> Callable[[], object]:
    """The Service's port leads to another port of its Pods."""
    key = ("Service", namespace, name)

    def act() -> Json:
        (port,) = (world.api.get(key) or {})["spec"]["ports"]
        return world.api.merge(key, {"spec": {"ports": [{**port, "targetPort": target}]}})

    return act


def signalled(world: World, marker: str, number: signal.Signals) -> Callable[[], object]:
    return lambda: send(world.pod_processes(marker), number)


def to_pids(pids: Callable[[], Sequence[int]], number: signal.Signals) -> Callable[[], object]:
    return lambda: send(pids(), number)


def linked(world: World, link: str, mode: Mode, deployment: tuple[str, str] | None = None) -> Callable[[], object]:
    """The mode of a link, for the Pods of one Deployment or for everybody."""

    def act() -> None:
        if deployment is None:
            world.relays.set(world.links[link], mode)
            return
        namespace, name = deployment
        pods = world.api.ask("GET", f"{world.api.path(('Pod', namespace, ''))}?labelSelector=app%3D{name}")
        for pod in pods["items"]:
            if address := pod["status"].get("podIP"):
                world.relays.set(world.links[link], mode, address)

    return act


@dataclass(frozen=True)
class Backend:
    """A Deployment and the Service whose port leads to it; what is broken with it, and what else it touches."""

    family: str
    namespace: str
    deployment: str
    service: str
    targets: tuple[Key, ...]
    touches: Callable[[Key], bool] = lambda key: False


def backend_faults(world: World, backend: Backend) -> list[Fault]:
    """What befalls one backend: none left, a wrong port, frozen, killed."""
    namespace, deployment = backend.namespace, backend.deployment
    marker = f"{namespace}/{deployment}"
    stop, go = signalled(world, marker, signal.SIGSTOP), signalled(world, marker, signal.SIGCONT)

    def fault(name: str, how: Break, inject: Callable[[], object], repair: Callable[[], object]) -> Fault:
        return Fault(f"{name} {marker}", backend.family, how, backend.targets, inject, repair, backend.touches)

    none, again = scaled(world, namespace, deployment, 0), scaled(world, namespace, deployment, 1)
    wrong, right = (aimed(world, namespace, backend.service, port) for port in (3999, 3000))
    return [
        fault("zero replicas", Break.SIGNALLED, none, again),
        fault("wrong port", Break.SILENT, wrong, right),
        fault("frozen backend", Break.SILENT, stop, go),
        fault("killed backend", Break.SIGNALLED, signalled(world, marker, signal.SIGKILL), lambda: None),
    ]
