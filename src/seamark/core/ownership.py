"""How a child tells whose it is."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from seamark.api.meta import Key, Object, OwnerReference

MANAGED_BY = "app.kubernetes.io/managed-by"


class Ownership(Protocol):
    """`claim` marks a child as its owner's; `owners` reads the mark; `token` is what an owner is known by there."""

    def token(self, owner: Object) -> Hashable: ...

    def owners(self, child: Object) -> Iterable[Hashable]: ...

    def claim(self, owner: Object, child: Any) -> Any: ...


class ByReference:
    """An owner reference with the owner's uid: for children in the owner's namespace. Kubernetes collects them."""

    def token(self, owner: Object) -> Hashable:
        return owner.uid

    def owners(self, child: Object) -> Iterable[Hashable]:
        return (reference.uid for reference in child.metadata.owner_references or ())

    def claim(self, owner: Object, child: Any) -> Any:
        resource = owner.RESOURCE
        reference = OwnerReference(
            api_version=resource.api_version,
            kind=resource.kind,
            name=owner.metadata.name,
            uid=owner.uid,
            controller=True,  # without blockOwnerDeletion: it would need one more right on the owner
        )
        metadata = msgspec.structs.replace(child.metadata, owner_references=(reference,))
        return msgspec.structs.replace(child, metadata=metadata)


@dataclass(frozen=True)
class ByLabels:
    """Labels that name the owner: for children in other namespaces, where owner references can't point."""

    manager: str
    name_label: str
    namespace_label: str

    def token(self, owner: Object) -> Hashable:
        return owner.key

    def owners(self, child: Object) -> Iterable[Hashable]:
        if child.label(MANAGED_BY) == self.manager and child.label(self.name_label):
            yield Key(child.label(self.namespace_label), child.label(self.name_label))

    def claim(self, owner: Object, child: Any) -> Any:
        labels = {
            **(child.metadata.labels or {}),
            MANAGED_BY: self.manager,
            self.name_label: owner.metadata.name,
            self.namespace_label: owner.metadata.namespace,
        }
        return msgspec.structs.replace(child, metadata=msgspec.structs.replace(child.metadata, labels=labels))
