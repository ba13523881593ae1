"""The facts that a StatefulSet's reconcile decides from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from seamark_cluster.controllers.workload.kinds import ControllerRevision, Pod, StatefulSet, Template
from seamark_cluster.controllers.workload.pods import template_hash

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"
HASH = "controller-revision-hash"
REVISION_HASH = "controller.kubernetes.io/hash"


@dataclass(frozen=True)
class Seen:
    owner: StatefulSet
    revisions: tuple[ControllerRevision, ...]
    pods: tuple[Pod, ...]
    orphans: tuple[Pod, ...]  # those it will adopt
    available: frozenset[str]

    @cached_property
    def data(self) -> dict[str, Any]:
        """The current template as a ControllerRevision stores it: a patch that restores it."""
        return {"spec": {"template": {"$patch": "replace", **(self.owner.spec.template or {})}}}

    @cached_property
    def latest(self) -> ControllerRevision | None:
        return next((revision for revision in self.revisions if revision.data == self.data), None)

    @property
    def update(self) -> str:
        """The name of the current template's revision."""
        if self.latest is not None:
            return self.latest.metadata.name
        return f"{self.owner.metadata.name}-{template_hash(self.owner.spec.template or {})}"

    @property
    def current(self) -> str:
        """The revision of Pods below the partition."""
        current = self.owner.status.current_revision
        return current if any(revision.metadata.name == current for revision in self.revisions) else self.update

    @cached_property
    def ordinals(self) -> range:
        start = self.owner.spec.ordinals.start
        return range(start, start + self.owner.spec.replicas)

    @cached_property
    def by_ordinal(self) -> dict[int, Pod]:
        found = {}
        for pod in (*self.pods, *self.orphans):
            number = pod.metadata.name.removeprefix(f"{self.owner.metadata.name}-")
            if number.isdigit():
                found[int(number)] = pod
        return found

    def template_of(self, revision: str) -> Template:
        found = next((item for item in self.revisions if item.metadata.name == revision), None)
        if found is None or found.data is None:
            return self.owner.spec.template or {}
        template: Template = found.data["spec"]["template"]
        return {name: value for name, value in template.items() if name != "$patch"}

    def healthy(self, pod: Pod | None) -> bool:
        return pod is not None and not pod.deleting and not pod.finished and pod.uid in self.available
