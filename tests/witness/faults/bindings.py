"""Faults of bindings: backends behind the far agent, the agent, the forwarders and their link."""

from __future__ import annotations

import signal
from collections.abc import Callable

from tests.witness import manifests
from tests.witness.api import Key
from tests.witness.faults.fault import Backend, Break, Fault, backend_faults, linked, named, scaled, signalled
from tests.witness.faults.loadbalancer import agents
from tests.witness.relay import Mode
from tests.witness.world import HOME, World

FAMILY = "bindings"


def faults(world: World, bound: Callable[[], dict[str, Key]]) -> list[Fault]:
    """`bound`: the BoundEndpoints by the name of their target Service."""
    found: list[Fault] = []
    known = bound()
    for name in ("b1", "b2"):
        targets = (known[name],)
        found += backend_faults(
            world, Backend(FAMILY, "bound", f"echo-{name}", f"echo-{name}", targets, named("bound", name))
        )
    everyone = tuple(known[name] for name in manifests.BOUND)
    return [*found, *agents(world, "bound", FAMILY, everyone), *forwarders(world, everyone)]


def forwarders(world: World, targets: tuple[Key, ...]) -> list[Fault]:
    def fault(name: str, how: Break, inject: Callable[[], object], repair: Callable[[], object]) -> Fault:
        hit = () if how is Break.NONE else targets
        return Fault(f"{name} {marker}", FAMILY, how, hit, inject, repair, lambda key: key in targets)

    marker = f"{HOME}/forwarder"
    stop, go, kill = (signalled(world, marker, number) for number in (signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL))
    silent, slow, whole = (linked(world, "ingress", mode) for mode in (Mode.SILENT, Mode.SLOW, Mode.PASS))
    return [
        fault("frozen forwarder", Break.SILENT, stop, go),
        fault("killed forwarder", Break.SIGNALLED, kill, lambda: None),
        fault(
            "zero forwarders", Break.SIGNALLED, scaled(world, HOME, "forwarder", 0), scaled(world, HOME, "forwarder", 1)
        ),
        fault("partitioned forwarder", Break.SILENT, silent, whole),
        fault("latency of forwarder", Break.NONE, slow, whole),
        slow_and_dead(world, targets),
    ]


def slow_and_dead(world: World, targets: tuple[Key, ...]) -> Fault:
    """Latency before the edge, and nobody behind it: silence of the far end proves nothing."""
    slow, whole = linked(world, "ingress", Mode.SLOW), linked(world, "ingress", Mode.PASS)
    none, again = scaled(world, "bound", "echo-b3", 0), scaled(world, "bound", "echo-b3", 1)

    def inject() -> None:
        slow()
        none()

    def repair() -> None:
        again()
        whole()

    return Fault(
        "latency and zero replicas bound/echo-b3",
        FAMILY,
        Break.SILENT,
        targets[-1:],
        inject,
        repair,
        lambda key: key in targets or key == ("AgentEndpoint", "bound", "b3"),
    )
