"""StatefulSet → the PersistentVolumeClaims of its Pods, from its templates.

- A claim is identified by its name, `<template>-<set>-<ordinal>`; it has no owner reference, and outlives Pod and set.
- Volumes are not provisioned here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from seamark_cluster.controllers.workload.kinds import StatefulSet
from seamark_cluster.controllers.workload.ownership import known
from seamark_cluster.controllers.workload.status import MANAGER
from seamark_runtime.api.meta import Key, Object, ObjectMeta, Resource
from seamark_runtime.apply import Answers
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Reads, Wanted, Writes
from seamark_runtime.events import Notice
from seamark_runtime.ownership import Ownership
from seamark_runtime.status import NoStatus
from seamark_runtime.view import View


class Claim(Object, frozen=True, kw_only=True):
    """A PersistentVolumeClaim whose spec is kept whole, as it comes from a template."""

    RESOURCE: ClassVar[Resource] = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")

    spec: dict[str, Any] | None = None


class ByName(Ownership):
    """The sets that a claim may be named after. Both names may contain dashes, so every split counts."""

    def token(self, owner: Object) -> Hashable:
        return owner.key

    def owners(self, child: Object) -> Iterable[Hashable]:
        *parts, number = child.metadata.name.split("-")
        if number.isdigit():
            for start in range(1, len(parts)):
                yield Key(child.metadata.namespace, "-".join(parts[start:]))

    def claim(self, _owner: Object, child: Any) -> Any:
        return child


BY_NAME = Index(Claim, ByName().owners, "claims by StatefulSet")


@dataclass(frozen=True)
class Seen:
    owner: StatefulSet
    claims: tuple[Claim, ...]


def desire(seen: Seen) -> Wanted:
    children: dict[str, Object] = {claim.metadata.name: known(claim) for claim in seen.claims}
    spec, meta = seen.owner.spec, seen.owner.metadata
    for number in range(spec.ordinals.start, spec.ordinals.start + spec.replicas):
        for template in spec.volume_claim_templates:
            metadata = template.get("metadata") or {}
            name = f"{metadata['name']}-{meta.name}-{number}"
            labels = {**(metadata.get("labels") or {}), **(spec.selector.match_labels or {})}
            made = ObjectMeta(
                name=name, namespace=meta.namespace, labels=labels, annotations=metadata.get("annotations")
            )
            children.setdefault(name, Claim(metadata=made, spec=template.get("spec")))
    return Wanted(children=children)


def announce(_seen: Seen, answers: Answers) -> Iterable[Notice]:
    for name, refusal in answers.refusals.items():
        yield Notice("FailedCreate", f"create Claim {name} failed error: {refusal.message}")


def observe(view: View, owner: StatefulSet, _results: Results) -> Seen | None:
    if owner.deleting or not owner.spec.volume_claim_templates:
        return None
    return Seen(owner, tuple(item for item in view.by(BY_NAME, owner.key) if not item.deleting))


def controller() -> Controller[Seen]:
    return Controller(
        name="claims",
        kind=StatefulSet,
        observe=observe,
        desire=desire,
        judge=lambda _seen, _answers: None,
        announce=announce,
        status=NoStatus(),
        reads=Reads(indexes=(BY_NAME,)),
        writes=Writes(children=(Claim,), ownership=ByName(), manager=MANAGER),
    )
