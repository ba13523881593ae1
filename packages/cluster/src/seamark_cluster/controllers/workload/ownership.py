"""Ownership by the controlling owner reference, as in kube-controller-manager."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import msgspec

from seamark_runtime.api.meta import Key, Object, OwnerReference
from seamark_runtime.cache import Index
from seamark_runtime.ownership import Ownership


class Controlling(Ownership):
    """The controlling owner reference. It also blocks a foreground deletion of the owner."""

    def token(self, owner: Object) -> Hashable:
        return owner.uid

    def owners(self, child: Object) -> Iterable[Hashable]:
        return (reference.uid for reference in child.metadata.owner_references or () if reference.controller)

    def claim(self, owner: Object, child: Any) -> Any:
        metadata = msgspec.structs.replace(child.metadata, owner_references=(reference_to(owner),))
        return msgspec.structs.replace(child, metadata=metadata)


def reference_to(owner: Object) -> OwnerReference:
    resource = owner.RESOURCE
    return OwnerReference(
        api_version=resource.api_version,
        kind=resource.kind,
        name=owner.metadata.name,
        uid=owner.uid,
        controller=True,
        block_owner_deletion=True,
    )


class OfNamespace(Ownership):
    """Objects that every namespace has, identified by their name alone: they get no owner reference."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def token(self, owner: Object) -> Hashable:
        return Key("", owner.metadata.name)

    def owners(self, child: Object) -> Iterable[Hashable]:
        if child.metadata.name in self._names:
            yield Key("", child.metadata.namespace)

    def claim(self, _owner: Object, child: Any) -> Any:
        return child


def by_controller(kind: type[Any]) -> Index[Any]:
    """The objects of a kind by the uid of their controller."""
    return Index(kind, Controlling().owners, f"{kind.RESOURCE.plural} by controller")


def known(obj: Object) -> Any:
    """A desired object that exists already: only its name is compared."""
    meta = type(obj.metadata)(name=obj.metadata.name, namespace=obj.metadata.namespace)
    return type(obj)(metadata=meta)
