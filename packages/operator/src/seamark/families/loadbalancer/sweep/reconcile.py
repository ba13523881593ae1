"""What is at the edge without an object in the cluster → its removal."""

from __future__ import annotations

from seamark.families.loadbalancer.model.options import Intervals
from seamark.families.loadbalancer.sweep.state import ListOwned, Owned, Remove, Seen
from seamark_runtime.calls import Call
from seamark_runtime.controller import Wanted


def listing(timing: Intervals, action: ListOwned) -> Call[tuple[Owned, ...]]:
    return Call(target="owned at the edge", action=action, every=timing.verify, shelf_life=2 * timing.verify)


def remove(owned: Owned) -> Call[None]:
    return Call(target=f"sweep/{owned.kind}/{owned.owner.key}", action=Remove(owned))


def desire(seen: Seen) -> Wanted:
    return Wanted(calls=(listing(seen.timing, seen.action), *map(remove, seen.due)))
