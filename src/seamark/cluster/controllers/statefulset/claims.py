"""StatefulSet → the claims of its Pods, from the templates in it.

- A claim is known by its name, `<template>-<set>-<number>`; nothing is written onto it, and it outlives Pod and set.
- Whether a volume comes of it is not decided here.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from seamark.api.meta import Key, Object, ObjectMeta, Resource
from seamark.cluster.controllers.kinds import StatefulSet
from seamark.cluster.controllers.ownership import known
from seamark.cluster.controllers.saying import MANAGER
from seamark.core.apply import Answers
from seamark.core.cache import Index
from seamark.core.calls import Results
from seamark.core.controller import Controller, Wanted
from seamark.core.events import Notice
from seamark.core.status import Silent
from seamark.core.view import View


class Claim(Object, frozen=True, kw_only=True):
    """A PersistentVolumeClaim whose spec is kept whole, as it is made from a template."""

    RESOURCE: ClassVar[Resource] = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")

    spec: dict[str, Any] | None = None


class ByName:
    """The set that a claim is named after. As both names may have dashes in them, every reading counts."""

    def token(self, owner: Object) -> Hashable:
        return owner.key

    def owners(self, child: Object) -> Iterable[Hashable]:
        *words, number = child.metadata.name.split("-")
        if number.isdigit():
            for start in range(1, len(words)):
                yield Key(child.metadata.namespace, "-".join(words[start:]))

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
            told = template.get("metadata") or {}
            name = f"{told['name']}-{meta.name}-{number}"
            labels = {**(told.get("labels") or {}), **(spec.selector.match_labels or {})}
            made = ObjectMeta(name=name, namespace=meta.namespace, labels=labels, annotations=told.get("annotations"))
            children.setdefault(name, Claim(metadata=made, spec=template.get("spec")))
    return Wanted(children=children)


def announce(_seen: Seen, answers: Answers) -> Iterable[Notice]:
    for name, refusal in answers.refusals.items():
        yield Notice("FailedCreate", f"create Claim {name} failed error: {refusal.message}")


def observe(view: View, owner: StatefulSet, _results: Results) -> Seen | None:
    if owner.deleting or not owner.spec.volume_claim_templates:
        return None
    return Seen(owner, tuple(one for one in view.by(BY_NAME, owner.key) if not one.deleting))


def controller() -> Controller[Seen]:
    return Controller(
        name="claims",
        kind=StatefulSet,
        observe=observe,
        desire=desire,
        judge=lambda _seen, _answers: None,
        announce=announce,
        status=Silent(),
        children=(Claim,),
        indexes=(BY_NAME,),
        ownership=ByName(),
        manager=MANAGER,
    )
