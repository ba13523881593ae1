"""Who may refer to what in another namespace."""

from __future__ import annotations

from dataclasses import dataclass

from seamark_runtime.api.gateway import ReferenceGrant
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.view import View

GRANTS = Index(ReferenceGrant, lambda grant: (grant.metadata.namespace,), "grants by namespace")


@dataclass(frozen=True)
class Asker:
    """The kind and namespace of an object that refers to others."""

    group: str
    kind: str
    namespace: str


def granted(view: View, asker: Asker, group: str, kind: str, key: Key) -> bool:
    """Whether the asker may refer to this object: its own namespace's always, others' by a grant there."""
    if key.namespace == asker.namespace:
        return True
    return any(allows(grant, asker, group, kind, key.name) for grant in view.by(GRANTS, key.namespace))


def allows(grant: ReferenceGrant, asker: Asker, group: str, kind: str, name: str) -> bool:
    who = any(
        (one.group, one.kind, one.namespace) == (asker.group, asker.kind, asker.namespace) for one in grant.spec.from_
    )
    what = any((one.group, one.kind) == (group, kind) and one.name in (None, "", name) for one in grant.spec.to)
    return who and what
