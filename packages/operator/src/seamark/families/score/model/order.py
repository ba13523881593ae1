"""The order of containers by `before`: a container precedes others, which wait until it has reached a state.

`started`: it runs. `healthy`: its probe has passed. `complete`: it has ended without an error.
"""

from __future__ import annotations

from collections.abc import Mapping

from seamark.api.score import Container

COMPLETE, HEALTHY = "complete", "healthy"


def fault(containers: Mapping[str, Container]) -> str:
    """What is wrong with the order, with its place; empty if nothing is."""
    for name, container in sorted(containers.items()):
        for other, wanted in sorted((container.before or {}).items()):
            where = f"containers.{name}.before.{other}"
            if other == name:
                return f"{where}: a container can't precede itself"
            if other not in containers:
                return f"{where}: there is no container {other!r}; there are {', '.join(sorted(containers))}"
            if wanted.ready == HEALTHY and container.readiness_probe is None and container.liveness_probe is None:
                return f"{where}.ready: {name} has no probe, so it never becomes healthy; give it a readinessProbe"
    return _cycle({name: set(container.before or {}) for name, container in containers.items()})


def _cycle(before: Mapping[str, set[str]]) -> str:
    left = dict(before)
    while left:
        free = [name for name, others in left.items() if not others & left.keys()]
        if not free:
            name, other = _of_cycle(left)
            return f"containers.{name}.before.{other}: it closes a cycle, in which each container waits for another"
        for name in free:
            del left[name]
    return ""


def _of_cycle(left: Mapping[str, set[str]]) -> tuple[str, str]:
    """Two neighbours of a cycle: every container that is left leads to one."""
    seen: list[str] = []
    name = min(left)
    while name not in seen:
        seen.append(name)
        name = min(left[name] & left.keys())
    return seen[-1], name


def in_order(before: Mapping[str, set[str]]) -> list[str]:
    """The containers that precede others, each before those that wait for it; by name where that leaves it open."""
    left = {name: others for name, others in before.items() if others}
    found: list[str] = []
    while left:
        waiting = set().union(*left.values())
        name = min(left.keys() - waiting)
        found.append(name)
        del left[name]
    return found
