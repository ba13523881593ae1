"""Who may refer to what in another namespace."""

from __future__ import annotations

from dataclasses import dataclass

from seamark_runtime.api.gateway import ReferenceGrant
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.view import View

GRANTS = Index(ReferenceGrant, lambda grant: (grant.metadata.namespace,), "grants by namespace")


@dataclass(frozen=True)
class Referrer:
    """The kind and namespace of an object that refers to others."""

    group: str
    kind: str
    namespace: str


def granted(view: View, referrer: Referrer, group: str, kind: str, key: Key) -> bool:
    """Whether the referrer may refer to this object: its own namespace's always, others' by a grant there."""
    if key.namespace == referrer.namespace:
        return True
    return any(allows(grant, referrer, group, kind, key.name) for grant in view.by(GRANTS, key.namespace))


def allows(grant: ReferenceGrant, referrer: Referrer, group: str, kind: str, name: str) -> bool:
    source = (referrer.group, referrer.kind, referrer.namespace)
    from_referrer = any((entry.group, entry.kind, entry.namespace) == source for entry in grant.spec.from_)
    to_target = any(
        (entry.group, entry.kind) == (group, kind) and entry.name in (None, "", name) for entry in grant.spec.to
    )
    return from_referrer and to_target
