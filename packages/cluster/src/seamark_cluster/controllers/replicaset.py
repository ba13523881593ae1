"""ReplicaSet → the desired number of Pods of one template.

- Pods that have finished or are terminating are not replicas; they are replaced.
- When there are too many, the Pods that matter least are deleted first.
- A Pod that the API server refuses is reported in the condition ReplicaFailure, with the API server's message.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from seamark_cluster.controllers.workload.adoption import PODS_ALONE, adopt, orphans, performing, release
from seamark_cluster.controllers.workload.kinds import Pod, ReplicaSet, ReplicaSetStatus, Selector, WorkloadCondition
from seamark_cluster.controllers.workload.ownership import Controlling, known
from seamark_cluster.controllers.workload.pods import (
    BY_CONTROLLER,
    active,
    available,
    from_template,
    keep_first,
    selects,
    short_hash,
)
from seamark_cluster.controllers.workload.status import MANAGER, Judged, WholeStatus
from seamark_runtime.api.meta import Object, ObjectMeta
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.client import Client
from seamark_runtime.controller import Controller, Reads, Wanted, Writes
from seamark_runtime.events import Notice
from seamark_runtime.view import View

AT_ONCE = 500  # Pods created in one reconcile


@dataclass(frozen=True)
class Seen:
    replica_set: ReplicaSet
    pods: tuple[Pod, ...]  # those it controls
    orphans: tuple[Pod, ...]  # those it will adopt
    available: frozenset[str]  # the uids of those that are available
    salt: str  # makes the names of new Pods unique: another one for each moment and set of Pods

    @cached_property
    def active(self) -> list[Pod]:
        """The replicas; if there are too many, those to keep come first."""
        unmatched = {pod.uid for pod in self.unmatched}
        found = active(pod for pod in self.pods if pod.uid not in unmatched)
        return sorted(found, key=keep_first) if len(found) > self.replica_set.replicas else found

    @cached_property
    def unmatched(self) -> list[Pod]:
        """Pods whose labels no longer match the selector."""
        selector = self.replica_set.spec.selector
        return [pod for pod in self.pods if selector and not selects(selector, pod.metadata.labels or {})]

    @property
    def kept(self) -> list[Pod]:
        return self.active[: self.replica_set.replicas]

    @property
    def removed(self) -> list[Pod]:
        return self.active[self.replica_set.replicas :]

    @cached_property
    def made(self) -> dict[str, Pod]:
        """New Pods by name, for the missing replicas."""
        owner = self.replica_set
        missing = min(owner.replicas - len(self.active) - len(active(self.orphans)), AT_ONCE)
        found = {}
        for number in range(missing):
            name = f"{owner.metadata.name}-{short_hash(owner.uid, self.salt, number)}"
            meta = ObjectMeta(name=name, namespace=owner.metadata.namespace)
            found[name] = from_template(owner.spec.template or {}, meta, f"{owner.metadata.name}-")
        return found


def desire(seen: Seen) -> Wanted:
    ended = [pod for pod in seen.pods if pod.finished and not pod.deleting]
    staying = (*seen.kept, *ended, *(pod for pod in seen.unmatched if not pod.deleting))
    children: dict[str, Object] = {pod.metadata.name: known(pod) for pod in staying}
    calls = [adopt(seen.replica_set, pod) for pod in seen.orphans]
    calls += [release(seen.replica_set, pod) for pod in seen.unmatched]
    return Wanted(children={**children, **seen.made}, calls=tuple(calls))


def judge(seen: Seen, answers: Answers) -> Judged:
    owner = seen.replica_set
    made = [name for name in seen.made if answers.child(name) is not None]
    labels = ((owner.spec.template or {}).get("metadata") or {}).get("labels") or {}
    complete = [pod for pod in seen.kept if labels.items() <= (pod.metadata.labels or {}).items()]
    status = ReplicaSetStatus(
        replicas=len(seen.kept) + len(made),
        fully_labeled_replicas=len(complete) + len(made),
        ready_replicas=sum(pod.ready for pod in seen.kept),
        available_replicas=sum(pod.uid in seen.available for pod in seen.kept),
        terminating_replicas=sum(pod.deleting and not pod.finished for pod in seen.pods) + len(seen.removed),
        conditions=failure(seen, answers),
    )
    return Judged(status)


def failure(seen: Seen, answers: Answers) -> tuple[WorkloadCondition, ...]:
    refusal = next((answers.refusal(name) for name in seen.made if answers.refusal(name)), None)
    if refusal is None:
        return ()
    return (WorkloadCondition(type="ReplicaFailure", status="True", reason="FailedCreate", message=refusal.message),)


def announce(seen: Seen, answers: Answers) -> Iterable[Notice]:
    for name in seen.made:
        if refusal := answers.refusal(name):
            yield Notice("FailedCreate", f"Error creating: {refusal.message}")
        else:
            yield Notice("SuccessfulCreate", f"Created pod: {name}", warning=False)
    for pod in seen.removed:
        yield Notice("SuccessfulDelete", f"Deleted pod: {pod.metadata.name}", warning=False)


def controller(client: Client) -> Controller[Seen]:
    def observe(view: View, owner: ReplicaSet, _results: Results) -> Seen | None:
        if owner.deleting:
            return None  # its Pods are deleted by the garbage collector
        pods = view.by(BY_CONTROLLER, owner.uid)
        ready = available(view, pods, owner.spec.min_ready_seconds, view.date)
        selector = owner.spec.selector or Selector()
        alone = orphans(view, PODS_ALONE, owner.metadata.namespace, selector)
        salt = short_hash(view.date, *(pod.uid for pod in pods), length=12)
        return Seen(owner, pods, alone, ready, salt)

    return Controller(
        name="replicasets",
        kind=ReplicaSet,
        observe=observe,
        desire=desire,
        judge=judge,
        announce=announce,
        status=WholeStatus(),
        perform=performing(client),
        reads=Reads(indexes=(BY_CONTROLLER, PODS_ALONE)),
        writes=Writes(children=(Pod,), ownership=Controlling(), manager=MANAGER),
    )
