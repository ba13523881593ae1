"""Objects that fit and belong to nobody are taken in; those that no longer fit are let go, and live on.

- Both are changes of an object's owner references, made beside the workers as calls, with the object's uid.
- Until an orphan is ours it counts as there, so that nothing is made in its place.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from seamark.api.meta import Key, Object, OwnerReference, to_wire
from seamark.cluster.controllers.kinds import Pod, Selector
from seamark.cluster.controllers.ownership import reference_to
from seamark.cluster.controllers.pods import selects
from seamark.core.cache import Index
from seamark.core.calls import Call
from seamark.core.client import Client
from seamark.core.errors import Gone
from seamark.core.view import View


@dataclass(frozen=True)
class Refer:
    """Make these the owners of that object."""

    kind: type[Object]
    key: Key
    uid: str
    owners: tuple[OwnerReference, ...]


def alone_by_label(kind: type[Any]) -> Index[Any]:
    """The objects of a kind that nobody controls, by namespace, label and value: mostly there are none."""

    def pairs(obj: Object) -> Iterable[Hashable]:
        labels = {} if _controlled(obj) else obj.metadata.labels or {}
        return ((obj.metadata.namespace, name, value) for name, value in labels.items())

    return Index(kind, pairs, f"{kind.RESOURCE.plural} of nobody by label")


PODS_ALONE = alone_by_label(Pod)


def orphans(view: View, index: Index[Any], namespace: str, selector: Selector) -> tuple[Any, ...]:
    """What a selector means and nobody controls. A selector without plain labels finds none here."""
    pairs = list((selector.match_labels or {}).items())
    if not pairs:
        return ()
    return tuple(
        one
        for one in view.by(index, (namespace, *pairs[0]))
        if not one.deleting and selects(selector, one.metadata.labels or {})
    )


def adopt(owner: Object, orphan: Object) -> Call[None]:
    return _refer(orphan, (*(orphan.metadata.owner_references or ()), reference_to(owner)))


def release(owner: Object, child: Object) -> Call[None]:
    return _refer(child, tuple(one for one in child.metadata.owner_references or () if one.uid != owner.uid))


def performing(client: Client) -> Callable[[Refer], Awaitable[None]]:
    async def perform(action: Refer) -> None:
        patch = {"metadata": {"uid": action.uid, "ownerReferences": to_wire(action.owners) or None}}
        try:
            await client.merge_patch(action.kind, action.key, patch)
        except Gone:
            return

    return perform


def _refer(obj: Object, owners: tuple[OwnerReference, ...]) -> Call[None]:
    return Call(f"{obj.RESOURCE.kind} {obj.key}", Refer(type(obj), obj.key, obj.uid, owners))


def _controlled(obj: Object) -> bool:
    return any(reference.controller for reference in obj.metadata.owner_references or ())
