"""Faults of load balancers: backends, agents and their links, upstreams, Secrets."""

from __future__ import annotations

import signal
from collections.abc import Callable

from tests.witness import manifests
from tests.witness.api import Key
from tests.witness.certificates import Authority, secret
from tests.witness.faults.fault import Backend, Break, Fault, aimed, backend_faults, linked, named, scaled, signalled
from tests.witness.relay import Mode
from tests.witness.world import World

FAMILY = "loadbalancer"


def faults(world: World, authority: Authority) -> list[Fault]:
    found: list[Fault] = []
    for namespace, name in (("lb-a", "t1"), ("lb-b", "s1")):
        # The Service itself has the port; its AgentEndpoint's name starts with the Service's.
        targets: tuple[Key, ...] = (("Service", namespace, name),)
        touches = named(namespace, f"{name}-")
        found += backend_faults(world, Backend(FAMILY, namespace, f"echo-{name}", name, targets, touches))
    found += agents(world, "lb-b", FAMILY)
    return [*found, *upstream(world), *revoked(world, authority)]


def agents(world: World, namespace: str, family: str, targets: tuple[Key, ...] | None = None) -> list[Fault]:
    """What befalls the agent of a namespace, which holds all endpoints of it."""
    if targets is None:
        services = (("Service", namespace, name) for name in manifests.BALANCERS[namespace])
        ends = (("AgentEndpoint", namespace, name) for name in manifests.ENDPOINTS[namespace])
        targets = (*services, *ends)

    def touches(key: Key) -> bool:
        return key[1] == namespace or (family == "bindings" and key[0] == "BoundEndpoint")

    def fault(name: str, how: Break, inject: Callable[[], object], repair: Callable[[], object]) -> Fault:
        hit = () if how is Break.NONE else targets
        return Fault(f"{name} {marker}", family, how, hit, inject, repair, touches)

    marker, pods = f"{namespace}/agent", (namespace, "agent")
    stop, go, kill = (signalled(world, marker, number) for number in (signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL))
    silent, slow, whole = (linked(world, "agents", mode, pods) for mode in (Mode.SILENT, Mode.SLOW, Mode.PASS))
    lossy, refuse = (linked(world, "agents", mode, pods) for mode in (Mode.LOSSY, Mode.REFUSE))
    return [
        fault("frozen agent", Break.SILENT, stop, go),
        fault("killed agent", Break.SIGNALLED, kill, lambda: None),
        fault("partitioned agent", Break.SILENT, silent, whole),
        fault("refused agent", Break.SIGNALLED, refuse, whole),
        fault("latency of agent", Break.NONE, slow, whole),
        fault("loss of agent", Break.NONE, lossy, whole),
        fault(
            "zero agents",
            Break.SIGNALLED,
            scaled(world, namespace, "agent", 0),
            scaled(world, namespace, "agent", 1),
        ),
    ]


def upstream(world: World) -> list[Fault]:
    """An upstream whose name does not resolve, and one where nobody listens."""
    key: Key = ("AgentEndpoint", "lb-a", "e1")

    def lead(url: str) -> Callable[[], object]:
        return lambda: world.api.merge(key, {"spec": {"upstream": {"url": url}}})

    whole = lead("http://echo-e1.lb-a:80")
    lost = Fault("upstream without a name", FAMILY, Break.SILENT, (key,), lead("http://nobody.lb-a:80"), whole)
    port = Fault(
        "wrong port lb-a/echo-e1",
        FAMILY,
        Break.SILENT,
        (key,),
        aimed(world, "lb-a", "echo-e1", 3999),
        aimed(world, "lb-a", "echo-e1", 3000),
    )
    return [lost, port]


def revoked(world: World, authority: Authority) -> list[Fault]:
    key = ("Secret", "lb-b", "certificate")
    targets: tuple[Key, ...] = (("AgentEndpoint", "lb-b", "e2"),)
    names = ("e2-lb-b.edge.witness.test",)
    good, old = (secret("lb-b", "certificate", authority.issue(names, expired=late)) for late in (False, True))

    def restore() -> object:
        return world.api.apply(good)

    # What agents hold stays as it was without the Secret: nobody is broken.
    return [
        Fault("deleted Secret lb-b/certificate", FAMILY, Break.NONE, targets, lambda: world.api.delete(key), restore),
        Fault(
            "expired certificate lb-b/certificate",
            FAMILY,
            Break.SILENT,
            targets,
            lambda: world.api.apply(old),
            restore,
        ),
    ]
