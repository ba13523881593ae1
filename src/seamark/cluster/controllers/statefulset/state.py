"""What a StatefulSet's decisions are made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from seamark.cluster.controllers.kinds import ControllerRevision, Pod, StatefulSet, Template
from seamark.cluster.controllers.pods import template_word

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"
HASH = "controller-revision-hash"
REVISION_HASH = "controller.kubernetes.io/hash"


@dataclass(frozen=True)
class Seen:
    owner: StatefulSet
    revisions: tuple[ControllerRevision, ...]
    pods: tuple[Pod, ...]
    orphans: tuple[Pod, ...]  # those that it will control
    available: frozenset[str]

    @cached_property
    def data(self) -> dict[str, Any]:
        """The present template as a revision keeps it: a patch that brings it back."""
        return {"spec": {"template": {"$patch": "replace", **(self.owner.spec.template or {})}}}

    @cached_property
    def latest(self) -> ControllerRevision | None:
        return next((one for one in self.revisions if one.data == self.data), None)

    @property
    def update(self) -> str:
        """The name of the present template's revision."""
        if self.latest is not None:
            return self.latest.metadata.name
        return f"{self.owner.metadata.name}-{template_word(self.owner.spec.template or {})}"

    @property
    def current(self) -> str:
        """The revision that Pods below the partition have."""
        said = self.owner.status.current_revision
        return said if any(one.metadata.name == said for one in self.revisions) else self.update

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

    @property
    def condemned(self) -> Iterator[Pod]:
        """Pods beyond the number wanted, the highest first."""
        for number in sorted(self.by_ordinal, reverse=True):
            if number not in self.ordinals:
                yield self.by_ordinal[number]

    def template_of(self, revision: str) -> Template:
        found = next((one for one in self.revisions if one.metadata.name == revision), None)
        if found is None or found.data is None:
            return self.owner.spec.template or {}
        template: Template = found.data["spec"]["template"]
        return {name: value for name, value in template.items() if name != "$patch"}

    def well(self, pod: Pod | None) -> bool:
        return pod is not None and not pod.deleting and not pod.finished and pod.uid in self.available
