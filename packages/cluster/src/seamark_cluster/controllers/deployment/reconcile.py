"""Deployment → ReplicaSets, and its status."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from seamark_cluster.controllers.deployment.rollout import NEW, counts, standing
from seamark_cluster.controllers.deployment.state import (
    DESIRED,
    HASH,
    HISTORY,
    MOST,
    NOT_COPIED,
    REVISION,
    ROLLED_OUT,
    Seen,
    revision_of,
)
from seamark_cluster.controllers.workload.adoption import adopt
from seamark_cluster.controllers.workload.kinds import (
    DeploymentStatus,
    ReplicaSet,
    ReplicaSetSpec,
    Selector,
    WorkloadCondition,
)
from seamark_cluster.controllers.workload.ownership import known
from seamark_cluster.controllers.workload.pods import template_hash
from seamark_cluster.controllers.workload.status import Judged
from seamark_runtime.api.meta import Object, ObjectMeta
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted
from seamark_runtime.events import Notice


def desire(seen: Seen) -> Wanted:
    if seen.orphans:  # adopt first: an orphan may have the current template
        calls = tuple(adopt(seen.deployment, orphan) for orphan in seen.orphans)
        return Wanted(
            children={replica_set.metadata.name: known(replica_set) for replica_set in seen.replica_sets}, calls=calls
        )
    next_step = counts(seen)
    children: dict[str, Object] = {
        revision.metadata.name: older(seen, revision, next_step[revision.metadata.name])
        for revision in remembered(seen)
    }
    if NEW in next_step:
        children[NEW] = newest(seen, next_step[NEW])
    return Wanted(children=children)


def remembered(seen: Seen) -> tuple[ReplicaSet, ...]:
    """Older ReplicaSets that have Pods, or are within the revision history limit."""
    idle = [item for item in seen.older if not item.replicas and not item.status.replicas]
    idle.sort(key=revision_of)
    forgotten = idle[: max(0, len(idle) - seen.deployment.spec.revision_history_limit)]
    return tuple(replica_set for replica_set in seen.older if replica_set not in forgotten)


def revision(seen: Seen) -> int:
    """The revision of the current template: one more than the highest when the template became current."""
    highest = max((revision_of(replica_set) for replica_set in seen.older), default=0)
    own = 0 if seen.newest is None else revision_of(seen.newest)
    return own if own > highest else highest + 1


def notes(seen: Seen) -> dict[str, str]:
    wanted = seen.deployment.spec.replicas
    return {DESIRED: str(wanted), MOST: str(wanted + seen.surge)}


def older(seen: Seen, replica_set: ReplicaSet, replicas: int) -> ReplicaSet:
    meta = replica_set.metadata
    annotations = notes(seen) if replicas else None
    return ReplicaSet(
        metadata=ObjectMeta(name=meta.name, namespace=meta.namespace, annotations=annotations),
        spec=ReplicaSetSpec(replicas=replicas),
    )


def newest(seen: Seen, replicas: int) -> ReplicaSet:
    spec = seen.deployment.spec
    own = seen.deployment.metadata.annotations or {}
    number = str(revision(seen))
    annotations = {name: text for name, text in own.items() if name not in NOT_COPIED}
    annotations |= {**notes(seen), REVISION: number}
    if seen.newest is not None:
        before = seen.newest.annotation(REVISION)
        if before and before != number:  # a rollback: keep its earlier revisions in the history annotation
            annotations[HISTORY] = ",".join(filter(None, (seen.newest.annotation(HISTORY), before)))
        meta = ObjectMeta(
            name=seen.newest.metadata.name, namespace=seen.newest.metadata.namespace, annotations=annotations
        )
        return ReplicaSet(
            metadata=meta, spec=ReplicaSetSpec(replicas=replicas, min_ready_seconds=spec.min_ready_seconds)
        )
    return created(seen, replicas, annotations)


def created(seen: Seen, replicas: int, annotations: dict[str, str]) -> ReplicaSet:
    spec, meta = seen.deployment.spec, seen.deployment.metadata
    template = spec.template or {}
    metadata = template.get("metadata") or {}
    label = {HASH: template_hash(template)}
    labels = {**(metadata.get("labels") or {}), **label}
    selector = Selector(
        match_labels={**(spec.selector.match_labels or {}), **label}, match_expressions=spec.selector.match_expressions
    )
    return ReplicaSet(
        metadata=ObjectMeta(
            name=f"{meta.name}-{label[HASH]}", namespace=meta.namespace, labels=labels, annotations=annotations
        ),
        spec=ReplicaSetSpec(
            replicas=replicas,
            min_ready_seconds=spec.min_ready_seconds,
            selector=selector,
            template={**template, "metadata": {**metadata, "labels": labels}},
        ),
    )


# ---- status


def judge(seen: Seen, answers: Answers) -> Judged:
    now = [child for role in desire(seen).children if (child := answers.child(role)) is not None]
    latest = answers.child(NEW)
    running = sum(candidate.status.available_replicas for candidate in now)
    status = DeploymentStatus(
        replicas=sum(entry.status.replicas for entry in now),
        updated_replicas=0 if latest is None else latest.status.replicas,
        ready_replicas=sum(element.status.ready_replicas for element in now),
        available_replicas=running,
        unavailable_replicas=max(0, sum(item.replicas for item in now) - running),
        terminating_replicas=sum(candidate.status.terminating_replicas or 0 for candidate in now),
        collision_count=seen.deployment.status.collision_count,
    )
    conditions = (available(seen, status), *progressing(seen, status, answers), *failed(now))
    return Judged(
        msgspec.structs.replace(status, conditions=conditions),
        {REVISION: str(revision(seen))} if latest is not None else {},
    )


def condition(type_: str, status: str, reason: str, message: str) -> WorkloadCondition:
    return WorkloadCondition(type=type_, status=status, reason=reason, message=message, last_update_time="")


def available(seen: Seen, status: DeploymentStatus) -> WorkloadCondition:
    if status.available_replicas >= seen.deployment.spec.replicas - seen.unavailable:
        message = "Deployment has minimum availability."
        return condition("Available", "True", "MinimumReplicasAvailable", message)
    message = "Deployment does not have minimum availability."
    return condition("Available", "False", "MinimumReplicasUnavailable", message)


def complete(seen: Seen, status: DeploymentStatus) -> bool:
    wanted = seen.deployment.spec.replicas
    return status.updated_replicas == status.replicas == status.available_replicas == wanted


def progressing(seen: Seen, status: DeploymentStatus, answers: Answers) -> tuple[WorkloadCondition, ...]:
    before = next((item for item in seen.deployment.status.conditions if item.type == "Progressing"), None)
    latest = answers.child(NEW)
    if seen.deployment.spec.paused:
        outcome = ("Unknown", "DeploymentPaused", "Deployment is paused")
    elif refusal := answers.refusal(NEW):
        outcome = ("False", "ReplicaSetCreateError", refusal.message)
    elif latest is not None:
        outcome = progress(seen, status, latest, before)
    elif before is not None:
        outcome = (before.status, before.reason, before.message)
    else:
        return ()
    return (condition("Progressing", *outcome),)


def progress(
    seen: Seen, status: DeploymentStatus, latest: ReplicaSet, before: WorkloadCondition | None
) -> tuple[str, str, str]:
    """Progress of the rollout to this ReplicaSet: status, reason and message."""
    name = f'ReplicaSet "{latest.metadata.name}"'
    over = f"{name} has successfully progressed."
    if complete(seen, status):
        return "True", ROLLED_OUT, over
    done = before is not None and before.reason == ROLLED_OUT and seen.newest is not None
    if done and status.replicas == status.updated_replicas:
        return "True", ROLLED_OUT, over  # a Pod was lost after the rollout was complete: not a rollout
    if before is None or (seen.newest is None and status.updated_replicas == 0):
        return "True", "NewReplicaSetCreated", f'Created new replica set "{latest.metadata.name}"'
    if seen.overdue and not progressed_since(status, seen.deployment.status):
        return "False", "ProgressDeadlineExceeded", f"{name} has timed out progressing."
    return "True", "ReplicaSetUpdated", f"{name} is progressing."


def progressed_since(status: DeploymentStatus, before: DeploymentStatus) -> bool:
    """Whether there are more new Pods, fewer old ones, or more ready ones."""
    return (
        status.updated_replicas > before.updated_replicas
        or status.replicas - status.updated_replicas < before.replicas - before.updated_replicas
        or status.ready_replicas > before.ready_replicas
        or status.available_replicas > before.available_replicas
    )


def failed(replica_sets: Iterable[ReplicaSet]) -> tuple[WorkloadCondition, ...]:
    for replica_set in replica_sets:
        for failure in replica_set.status.conditions:
            if failure.type == "ReplicaFailure" and failure.status == "True":
                return (condition(failure.type, failure.status, failure.reason, failure.message),)
    return ()


def announce(seen: Seen, answers: Answers) -> Iterable[Notice]:
    before = standing(seen)
    for name, replicas in counts(seen).items():
        child = answers.child(name)
        had = before.get(name, 0)
        if child is None or replicas == had:
            continue
        way = "up" if replicas > had else "down"
        message = f"Scaled {way} replica set {child.metadata.name} from {had} to {replicas}"
        yield Notice("ScalingReplicaSet", message, warning=False)
