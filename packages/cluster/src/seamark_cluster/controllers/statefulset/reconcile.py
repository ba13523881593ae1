"""StatefulSet → its revisions and Pods, and its status.

- In order: a Pod is created when all Pods before it are ready, and deleted when all after it are gone.
- An update goes from the highest ordinal down to the partition, one Pod at a time.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from seamark_cluster.controllers.statefulset.state import HASH, POD_INDEX, POD_NAME, REVISION_HASH, Seen
from seamark_cluster.controllers.workload.adoption import adopt
from seamark_cluster.controllers.workload.kinds import ControllerRevision, Partition, Pod, StatefulSetStatus
from seamark_cluster.controllers.workload.ownership import known
from seamark_cluster.controllers.workload.pods import from_template
from seamark_cluster.controllers.workload.status import Judged
from seamark_runtime.api.meta import Object, ObjectMeta
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted
from seamark_runtime.events import Notice


def desire(seen: Seen) -> Wanted:
    kept, made = plan(seen)
    children: dict[str, Object] = {f"revision {revision.metadata.name}": revision for revision in revisions(seen)}
    children |= {pod.metadata.name: known(pod) for pod in kept}
    children |= {pod.metadata.name: pod for pod in made}
    return Wanted(children=children, calls=tuple(adopt(seen.owner, pod) for pod in seen.orphans))


# ---- revisions


def revisions(seen: Seen) -> list[ControllerRevision]:
    """The current revision, those that Pods have, and the history within its limit."""
    in_use = {seen.current, seen.update, *(f"{pod.label(HASH)}" for pod in seen.pods)}
    idle = [revision for revision in seen.revisions if revision.metadata.name not in in_use]
    idle.sort(key=lambda item: item.revision)
    forgotten = idle[: max(0, len(idle) - seen.owner.spec.revision_history_limit)]
    kept = [known(entry) for entry in seen.revisions if entry not in forgotten and entry is not seen.latest]
    return [*kept, present_revision(seen)]


def present_revision(seen: Seen) -> ControllerRevision:
    highest = max((revision.revision for revision in seen.revisions if revision is not seen.latest), default=0)
    if seen.latest is not None:
        number = seen.latest.revision if seen.latest.revision > highest else highest + 1
        meta = ObjectMeta(name=seen.latest.metadata.name, namespace=seen.latest.metadata.namespace)
        return ControllerRevision(metadata=meta, revision=number)
    template = seen.owner.spec.template or {}
    labels = {**((template.get("metadata") or {}).get("labels") or {})}
    labels[REVISION_HASH] = seen.update.removeprefix(f"{seen.owner.metadata.name}-")
    meta = ObjectMeta(
        name=seen.update,
        namespace=seen.owner.metadata.namespace,
        labels=labels,
        annotations=seen.owner.metadata.annotations,
    )
    return ControllerRevision(metadata=meta, data=seen.data, revision=highest + 1)


# ---- Pods


def plan(seen: Seen) -> tuple[list[Pod], list[Pod]]:
    """The Pods that stay, and those that are created now."""
    staying = {number: pod for number, pod in seen.by_ordinal.items() if not pod.deleting and pod in seen.pods}
    made: list[Pod] = []
    one_by_one = seen.owner.spec.pod_management_policy != "Parallel"
    for number in seen.ordinals:
        pod = seen.by_ordinal.get(number)
        if pod is None:
            made.append(new_pod(seen, number))
        elif pod.finished:
            staying.pop(number, None)  # it is created again under its name
        if one_by_one and not seen.healthy(pod):
            return list(staying.values()), made
    if going := going_down(seen, one_by_one=one_by_one):
        for number in going:
            staying.pop(number, None)
    elif not made and (old := to_update(seen)) is not None:
        staying.pop(old, None)
    return list(staying.values()), made


def going_down(seen: Seen, *, one_by_one: bool) -> list[int]:
    """The ordinals of the surplus Pods to delete now."""
    beyond = sorted((number for number in seen.by_ordinal if number not in seen.ordinals), reverse=True)
    return beyond[:1] if one_by_one else beyond


def to_update(seen: Seen) -> int | None:
    """The next Pod to be replaced by one of the current template."""
    strategy = seen.owner.spec.update_strategy
    if strategy.type != "RollingUpdate":
        return None
    lowest = seen.ordinals.start + (strategy.rolling_update or Partition()).partition
    for number in reversed(seen.ordinals):
        pod = seen.by_ordinal.get(number)
        if number < lowest:
            return None
        if pod is not None and pod.label(HASH) != seen.update and not pod.deleting:
            return number
        if not seen.healthy(pod):
            return None
    return None


def new_pod(seen: Seen, number: int) -> Pod:
    owner = seen.owner
    lowest = seen.ordinals.start + (owner.spec.update_strategy.rolling_update or Partition()).partition
    revision = seen.current if number < lowest else seen.update
    name = f"{owner.metadata.name}-{number}"
    labels = {HASH: revision, POD_NAME: name, POD_INDEX: str(number)}
    meta = ObjectMeta(name=name, namespace=owner.metadata.namespace)
    pod = from_template(seen.template_of(revision), meta, f"{owner.metadata.name}-", labels)
    spec = {**(pod.spec or {}), "hostname": name}
    if owner.spec.service_name:
        spec["subdomain"] = owner.spec.service_name
    claims = [claim["metadata"]["name"] for claim in owner.spec.volume_claim_templates]
    if claims:
        own = [{"name": claim, "persistentVolumeClaim": {"claimName": f"{claim}-{name}"}} for claim in claims]
        spec["volumes"] = [*own, *(volume for volume in spec.get("volumes") or () if volume["name"] not in claims)]
    return msgspec.structs.replace(pod, spec=spec)


# ---- status


def judge(seen: Seen, answers: Answers) -> Judged:
    kept, made = plan(seen)
    new = [pod for pod in made if answers.child(pod.metadata.name) is not None]
    pods = [*kept, *new, *(pod for pod in seen.pods if pod.deleting)]
    updated = sum(pod.label(HASH) == seen.update and not pod.deleting for pod in pods)
    ready = sum(pod.ready and not pod.deleting for pod in kept)
    over = updated == len(pods) == ready == seen.owner.spec.replicas
    current = seen.update if over else seen.current
    status = StatefulSetStatus(
        replicas=len(pods),
        ready_replicas=ready,
        available_replicas=sum(pod.uid in seen.available for pod in kept),
        updated_replicas=updated,
        current_replicas=sum(pod.label(HASH) == current and not pod.deleting for pod in pods),
        current_revision=current,
        update_revision=seen.update,
        collision_count=0,
    )
    return Judged(status)


def announce(seen: Seen, answers: Answers) -> Iterable[Notice]:
    kept, made = plan(seen)
    name = seen.owner.metadata.name
    for pod in made:
        if refusal := answers.refusal(pod.metadata.name):
            message = f"Create Pod {pod.metadata.name} in StatefulSet {name} failed error: {refusal.message}"
            yield Notice("FailedCreate", message)
        else:
            message = f"Create Pod {pod.metadata.name} in StatefulSet {name} successful"
            yield Notice("SuccessfulCreate", message, warning=False)
    staying = {pod.uid for pod in kept}
    for pod in seen.pods:
        if pod.uid not in staying and not pod.deleting:
            message = f"Delete Pod {pod.metadata.name} in StatefulSet {name} successful"
            yield Notice("SuccessfulDelete", message, warning=False)
