"""Adoption and release: matching objects without a controller are adopted; those that no longer match are released.

- Both change an object's owner references, in calls beside the workers, with the object's uid.
- An orphan that matches counts as existing before it is adopted, so that no replacement is created.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from seamark_cluster.controllers.workload.kinds import Pod, Selector
from seamark_cluster.controllers.workload.ownership import reference_to
from seamark_cluster.controllers.workload.pods import selects
from seamark_runtime.api.meta import Key, Object, OwnerReference, to_wire
from seamark_runtime.cache import Index
from seamark_runtime.calls import Call
from seamark_runtime.client import Client
from seamark_runtime.errors import Gone
from seamark_runtime.view import View


@dataclass(frozen=True)
class Refer:
    """Sets the owner references of an object."""

    kind: type[Object]
    key: Key
    uid: str
    owners: tuple[OwnerReference, ...]


def alone_by_label(kind: type[Any]) -> Index[Any]:
    """The objects of a kind without a controller, by namespace, label and value."""

    def pairs(obj: Object) -> Iterable[Hashable]:
        labels = {} if _controlled(obj) else obj.metadata.labels or {}
        return ((obj.metadata.namespace, name, value) for name, value in labels.items())

    return Index(kind, pairs, f"{kind.RESOURCE.plural} without controller by label")


PODS_ALONE = alone_by_label(Pod)


def orphans(view: View, index: Index[Any], namespace: str, selector: Selector) -> tuple[Any, ...]:
    """Objects that a selector matches and that have no controller. A selector without matchLabels finds none here."""
    pairs = list((selector.match_labels or {}).items())
    if not pairs:
        return ()
    return tuple(
        item
        for item in view.by(index, (namespace, *pairs[0]))
        if not item.deleting and selects(selector, item.metadata.labels or {})
    )


def adopt(owner: Object, orphan: Object) -> Call[None]:
    return _refer(orphan, (*(orphan.metadata.owner_references or ()), reference_to(owner)))


def release(owner: Object, child: Object) -> Call[None]:
    return _refer(
        child, tuple(reference for reference in child.metadata.owner_references or () if reference.uid != owner.uid)
    )


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
