"""How a child identifies its owner, and where that counts.

Labels, annotations and owner references are text: anybody who may write an object can name any owner in it. The
namespace of an object can't be forged. So children are found by both (`Children`): an object that a tenant puts into
their own namespace is not a child of an owner whose children are elsewhere, whatever it claims. It is not read, not
deleted and not waited for, and its changes requeue nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from seamark_runtime.api.core import Namespace
from seamark_runtime.api.meta import Key, Object, OwnerReference

MANAGED_BY = "app.kubernetes.io/managed-by"


def within(obj: Object, uid: str) -> Hashable:
    """A uid as objects of this one's namespace know it: what a tenant writes concerns objects of the tenant alone."""
    return (obj.metadata.namespace, uid)


class Ownership(Protocol):
    """`claim` marks a child as its owner's; `owners` reads the mark; `token` is what an owner is known by there."""

    def token(self, owner: Object) -> Hashable: ...

    def owners(self, child: Object) -> Iterable[Hashable]: ...

    def claim(self, owner: Object, child: Any) -> Any: ...

    def owns(self, owner: Object, child: Object) -> bool:
        """Whether an object that has the name of a wanted child may be changed to be that child."""
        return self.token(owner) in set(self.owners(child))

    def refers(self, owner: Object, reference: OwnerReference) -> bool:
        """Whether a reference on an owned child is ours to remove where `claim` does not set it."""
        del owner, reference
        return False


class Misplaced(Exception):
    """A controller wants a child where its children are not looked for: nothing would ever remove it."""


@dataclass(frozen=True)
class Children:
    """Where the children of an owner are, and by what they are found there.

    `namespace` is that of the installation in which all of them are; empty: each is in its owner's namespace. Those of
    a kind without namespaces are found by their mark alone: no tenant may write them.
    """

    ownership: Ownership
    namespace: str = ""

    def index(self) -> Callable[[Object], Iterable[Hashable]]:
        """The owners of a child, as they are looked up by `token`."""
        owners = self.ownership.owners
        return lambda child: [(child.metadata.namespace, owner) for owner in owners(child)]

    def token(self, owner: Object, kind: type[Object]) -> Hashable:
        return (self.place(owner, kind), self.ownership.token(owner))

    def place(self, owner: Object, kind: type[Object]) -> str:
        """The namespace of an owner's children of a kind; those of a Namespace are in it."""
        if not kind.RESOURCE.namespaced:
            return ""
        here = owner.metadata.name if isinstance(owner, Namespace) else owner.metadata.namespace
        return self.namespace or here

    def check(self, owner: Object, child: Object) -> None:
        if child.metadata.namespace != self.place(owner, type(child)):
            kind, key = child.RESOURCE.kind, child.key
            raise Misplaced(f"{kind} {key} is in another namespace than the children of {owner.key}")


@dataclass(frozen=True)
class InNamespace(Ownership):
    """An ownership whose children are all in one namespace, that of the installation, wherever their owners are."""

    ownership: Ownership
    namespace: str

    def token(self, owner: Object) -> Hashable:
        return self.ownership.token(owner)

    def owners(self, child: Object) -> Iterable[Hashable]:
        return self.ownership.owners(child)

    def claim(self, owner: Object, child: Any) -> Any:
        return self.ownership.claim(owner, child)

    def owns(self, owner: Object, child: Object) -> bool:
        return self.ownership.owns(owner, child)

    def refers(self, owner: Object, reference: OwnerReference) -> bool:
        return self.ownership.refers(owner, reference)


class ByReference(Ownership):
    """An owner reference with the owner's uid: for children in the owner's namespace. Kubernetes collects them.

    What refers to an owner from another namespace is not its child, as for Kubernetes: anybody can write a uid there.
    """

    def token(self, owner: Object) -> Hashable:
        return within(owner, owner.uid)

    def owners(self, child: Object) -> Iterable[Hashable]:
        return (within(child, reference.uid) for reference in child.metadata.owner_references or ())

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

    def refers(self, owner: Object, reference: OwnerReference) -> bool:
        resource = owner.RESOURCE
        return refers_to(reference, resource.group, resource.kind, owner.metadata.name)


def refers_to(reference: OwnerReference, group: str, kind: str, name: str) -> bool:
    """By name, whatever the uid: where an owner of this name exists, a reference to another uid leads nowhere."""
    return (reference.api_version.rpartition("/")[0], reference.kind, reference.name) == (group, kind, name)


@dataclass(frozen=True)
class ByLabels(Ownership):
    """Labels that name the owner: for children in other namespaces, where owner references can't point."""

    manager: str
    name_label: str
    namespace_label: str

    def token(self, owner: Object) -> Hashable:
        return owner.key

    def owners(self, child: Object) -> Iterable[Key]:
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
