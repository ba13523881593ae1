"""The replicas that each ReplicaSet should have next. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Mapping

from seamark_cluster.controllers.deployment.state import Seen
from seamark_cluster.controllers.workload.kinds import ReplicaSet

NEW = ""  # the ReplicaSet of the current template, also before it is created

Counts = Mapping[str, int]  # name (NEW for the newest) → replicas


def counts(seen: Seen) -> dict[str, int]:
    """The next step, for every existing ReplicaSet."""
    if seen.deployment.spec.paused:
        return scaled(seen)
    if seen.deployment.spec.strategy.type == "Recreate":
        return recreated(seen)
    return rolled(seen)


def standing(seen: Seen) -> dict[str, int]:
    newest = {NEW: seen.newest.replicas} if seen.newest is not None else {}
    return {**newest, **{replica_set.metadata.name: replica_set.replicas for replica_set in seen.older}}


def scaled(seen: Seen) -> dict[str, int]:
    """A paused rollout stays as it is; only a single ReplicaSet with Pods is scaled."""
    now = standing(seen)
    running = [name for name, replicas in now.items() if replicas]
    last = running[-1:] or ([NEW] if NEW in now else [])
    if len(running) <= 1:
        for name in last:
            now[name] = seen.deployment.spec.replicas
    return now


def recreated(seen: Seen) -> dict[str, int]:
    """Scales all old Pods down before creating new ones."""
    old = {item.metadata.name: 0 for item in seen.older}
    if any(replica_set.replicas for replica_set in seen.older) or seen.old_pods_run:
        return {**old, **({NEW: seen.newest.replicas} if seen.newest is not None else {})}
    return {**old, NEW: seen.deployment.spec.replicas}


def rolled(seen: Seen) -> dict[str, int]:
    """Scales new Pods up within the surge, old ones down while enough Pods are available."""
    wanted = seen.deployment.spec.replicas
    have = 0 if seen.newest is None else seen.newest.replicas
    total = have + sum(replica_set.replicas for replica_set in seen.older)
    headroom = max(0, wanted + seen.surge - total)
    return {**downward(seen, have, total), NEW: wanted if have >= wanted else have + min(headroom, wanted - have)}


def downward(seen: Seen, have: int, total: int) -> dict[str, int]:
    """Scales the old ReplicaSets down: unavailable Pods first, then the oldest ReplicaSet."""
    left = {item.metadata.name: item.replicas for item in seen.older}
    least = seen.deployment.spec.replicas - seen.unavailable
    up = 0 if seen.newest is None else min(have, seen.newest.status.available_replicas)
    removable = total - least - (have - up)
    for element in seen.older:
        unhealthy = min(removable, element.replicas - healthy(element))
        if unhealthy > 0:
            left[element.metadata.name] -= unhealthy
            removable -= unhealthy
    spare = min(removable, up + sum(healthy(replica_set) for replica_set in seen.older) - least)
    for entry in seen.older:
        going = min(spare, left[entry.metadata.name])
        if going > 0:
            left[entry.metadata.name] -= going
            spare -= going
    return left


def healthy(replica_set: ReplicaSet) -> int:
    return min(replica_set.replicas, replica_set.status.available_replicas)
