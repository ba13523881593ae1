"""Which owner a Service or a BoundEndpoint has, by its labels; those of the Go operator are ours, too.

The labels name a BoundEndpoint and its namespace, which is that of an installation: what another installation has made
names another namespace, and is not touched.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from seamark.families.bindings.model.targets import target_of
from seamark_edge.api.bindings import BoundEndpoint
from seamark_runtime.api.core import Service
from seamark_runtime.api.meta import Key, Object, OwnerReference
from seamark_runtime.ownership import MANAGED_BY, ByReference, Ownership

MANAGER = "ngrok-operator"
NAME_LABEL = "ngrok.com/endpoint-binding-name"
NAMESPACE_LABEL = "ngrok.com/endpoint-binding-namespace"
OLD_NAME_LABEL = "bindings.k8s.ngrok.com/endpoint-binding-name"
OLD_NAMESPACE_LABEL = "bindings.k8s.ngrok.com/endpoint-binding-namespace"
ROLE = "bindings.seamark.dev/role"
PROJECTED_BY = "bindings.seamark.dev/projected-by"
FINALIZER = "bindings.k8s.ngrok.com/services"  # on BoundEndpoints; ours alone, forwarders have none
FORMER_FINALIZER = "k8s.ngrok.com/finalizer"
UPSTREAM, TARGET = "upstream", "target"


@dataclass(frozen=True)
class OfService:
    """A Service of one role. Where its label is missing, as on the Go operator's, its type decides."""

    namespace: str  # of the installation
    role: str

    def owner(self, child: Object) -> Key | None:
        """The BoundEndpoint that its labels name, if it is ours and has this role."""
        if not isinstance(child, Service) or child.label(MANAGED_BY) != MANAGER:
            return None
        namespace = child.label(NAMESPACE_LABEL) or child.label(OLD_NAMESPACE_LABEL)
        name = child.label(NAME_LABEL) or child.label(OLD_NAME_LABEL)
        by_type = TARGET if child.spec is not None and child.spec.type == "ExternalName" else UPSTREAM
        if not name or namespace != self.namespace or (child.label(ROLE) or by_type) != self.role:
            return None
        return Key(namespace, name)

    def labelled(self, child: Any) -> Any:
        labels = {**(child.metadata.labels or {}), MANAGED_BY: MANAGER, ROLE: self.role}
        return msgspec.structs.replace(child, metadata=msgspec.structs.replace(child.metadata, labels=labels))


class OfUpstream(Ownership):
    """An upstream Service belongs to the BoundEndpoint that its labels name; Kubernetes collects it with that, too."""

    def __init__(self, namespace: str) -> None:
        self._service = OfService(namespace, UPSTREAM)
        self._reference = ByReference()

    def token(self, owner: Object) -> Hashable:
        return owner.key

    def owners(self, child: Object) -> Iterable[Hashable]:
        owner = self._service.owner(child)
        return () if owner is None else (owner,)

    def claim(self, owner: Object, child: Any) -> Any:
        return self._reference.claim(owner, self._service.labelled(child))

    def refers(self, owner: Object, reference: OwnerReference) -> bool:
        return self._reference.refers(owner, reference)


class OfTarget(Ownership):
    """A target Service belongs to the group of its own name, whatever member its labels name."""

    def __init__(self, namespace: str) -> None:
        self._service = OfService(namespace, TARGET)

    def token(self, owner: Object) -> Hashable:
        return owner.key

    def owners(self, child: Object) -> tuple[Key, ...]:
        return () if self._service.owner(child) is None else (child.key,)

    def claim(self, owner: Object, child: Any) -> Any:
        return self._service.labelled(child)


@dataclass(frozen=True)
class OfProjection(Ownership):
    """A BoundEndpoint that the poller makes: it has our label, or the name that follows from its target."""

    installation: Key

    def token(self, owner: Object) -> Hashable:
        return owner.key

    def owners(self, child: Object) -> Iterable[Hashable]:
        return (child.key,) if isinstance(child, BoundEndpoint) and self.projected(child) else ()

    def projected(self, endpoint: BoundEndpoint) -> bool:
        if endpoint.metadata.namespace != self.installation.namespace:
            return False
        label = endpoint.label(PROJECTED_BY)
        return label == self.installation.name or (not label and endpoint.key.name == target_of(endpoint.spec).name)

    def claim(self, owner: Object, child: Any) -> Any:
        labels = {**(child.metadata.labels or {}), PROJECTED_BY: self.installation.name}
        return msgspec.structs.replace(child, metadata=msgspec.structs.replace(child.metadata, labels=labels))


def owner_labels(key: Key) -> dict[str, str]:
    return {
        NAME_LABEL: key.name,
        NAMESPACE_LABEL: key.namespace,
        OLD_NAME_LABEL: key.name,
        OLD_NAMESPACE_LABEL: key.namespace,
    }
