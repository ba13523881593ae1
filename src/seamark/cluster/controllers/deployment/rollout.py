"""How many replicas each ReplicaSet should have next. Numbers only."""

from __future__ import annotations

from collections.abc import Mapping

from seamark.cluster.controllers.deployment.state import Seen
from seamark.cluster.controllers.kinds import ReplicaSet

NEW = ""  # the ReplicaSet of the present template, also while it is not made yet

Counts = Mapping[str, int]  # name (NEW for the newest) → replicas


def counts(seen: Seen) -> dict[str, int]:
    """The next step. Every ReplicaSet that is there is in it."""
    if seen.deployment.spec.paused:
        return scaled(seen)
    if seen.deployment.spec.strategy.type == "Recreate":
        return recreated(seen)
    return rolled(seen)


def standing(seen: Seen) -> dict[str, int]:
    newest = {NEW: seen.newest.replicas} if seen.newest is not None else {}
    return {**newest, **{one.metadata.name: one.replicas for one in seen.older}}


def scaled(seen: Seen) -> dict[str, int]:
    """A paused rollout stays where it is; only the one ReplicaSet that has Pods follows the number wanted."""
    now = standing(seen)
    running = [name for name, replicas in now.items() if replicas]
    last = running[-1:] or ([NEW] if NEW in now else [])
    if len(running) <= 1:
        for name in last:
            now[name] = seen.deployment.spec.replicas
    return now


def recreated(seen: Seen) -> dict[str, int]:
    """First all old Pods go, then the new ones come."""
    old = {one.metadata.name: 0 for one in seen.older}
    if any(one.replicas for one in seen.older) or seen.old_pods_run:
        return {**old, **({NEW: seen.newest.replicas} if seen.newest is not None else {})}
    return {**old, NEW: seen.deployment.spec.replicas}


def rolled(seen: Seen) -> dict[str, int]:
    """New Pods as far as the surge allows, old ones down as far as enough are available."""
    wanted = seen.deployment.spec.replicas
    have = 0 if seen.newest is None else seen.newest.replicas
    total = have + sum(one.replicas for one in seen.older)
    room = max(0, wanted + seen.surge - total)
    return {**downward(seen, have, total), NEW: wanted if have >= wanted else have + min(room, wanted - have)}


def downward(seen: Seen, have: int, total: int) -> dict[str, int]:
    """The old ReplicaSets: what is not available goes first, then the oldest."""
    left = {one.metadata.name: one.replicas for one in seen.older}
    least = seen.deployment.spec.replicas - seen.unavailable
    up = 0 if seen.newest is None else min(have, seen.newest.status.available_replicas)
    removable = total - least - (have - up)
    for one in seen.older:
        sick = min(removable, one.replicas - healthy(one))
        if sick > 0:
            left[one.metadata.name] -= sick
            removable -= sick
    spare = min(removable, up + sum(healthy(one) for one in seen.older) - least)
    for one in seen.older:
        going = min(spare, left[one.metadata.name])
        if going > 0:
            left[one.metadata.name] -= going
            spare -= going
    return left


def healthy(replica_set: ReplicaSet) -> int:
    return min(replica_set.replicas, replica_set.status.available_replicas)
