"""Faults of workloads: their Pods' processes, ports and images, and the Service before them."""

from __future__ import annotations

import signal

from tests.witness import manifests
from tests.witness.api import Key
from tests.witness.faults.fault import Break, Fault, named, signalled
from tests.witness.world import World

FAMILY = "score"


def faults(world: World) -> list[Fault]:
    return [fault for name in ("w1", "w2") for fault in of(world, name)]


def of(world: World, name: str) -> list[Fault]:
    key: Key = ("Workload", "score", name)
    targets, touches = (key,), named("score", name)
    stop, go, kill = (
        signalled(world, f"score/{name}", number) for number in (signal.SIGSTOP, signal.SIGCONT, signal.SIGKILL)
    )

    def apply(target: int = 3000, image: str = manifests.ECHO) -> object:
        workload = manifests.workload(name, target)
        workload["spec"]["containers"]["main"]["image"] = image
        return world.api.apply(workload)

    return [
        Fault(f"frozen Pod {name}", FAMILY, Break.SILENT, targets, stop, go, touches),
        Fault(f"killed Pod {name}", FAMILY, Break.SIGNALLED, targets, kill, touches=touches),
        Fault(f"wrong port of {name}", FAMILY, Break.SIGNALLED, targets, lambda: apply(3999), apply, touches),
        Fault(
            f"deleted Service of {name}",
            FAMILY,
            Break.SIGNALLED,
            targets,
            lambda: world.api.delete(("Service", "score", name)),
            touches=touches,
        ),
        # The Pod of before goes on serving until a new one is ready.
        Fault(
            f"unknown image of {name}", FAMILY, Break.NONE, (), lambda: apply(image="nobody/has:this"), apply, touches
        ),
    ]
