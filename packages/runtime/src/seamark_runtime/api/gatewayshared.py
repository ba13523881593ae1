"""gateway.networking.k8s.io: references that several kinds have in common."""

from __future__ import annotations

from seamark_runtime.api.meta import Condition, Wire

GROUP = "gateway.networking.k8s.io"


class LocalObjectReference(Wire, frozen=True, kw_only=True):
    group: str = ""
    kind: str = ""
    name: str = ""


class ObjectReference(Wire, frozen=True, kw_only=True):
    """A Secret, unless another kind is given."""

    name: str
    group: str = ""
    kind: str = "Secret"
    namespace: str = ""


class ParentReference(Wire, frozen=True, kw_only=True):
    name: str
    group: str | None = None
    kind: str | None = None
    namespace: str | None = None
    section_name: str | None = None
    port: int | None = None


class AncestorStatus(Wire, frozen=True, kw_only=True):
    ancestor_ref: ParentReference
    controller_name: str
    conditions: tuple[Condition, ...] = ()


class PolicyStatus(Wire, frozen=True, kw_only=True, omit_defaults=False):
    ancestors: tuple[AncestorStatus, ...] | None = None


class TargetReference(Wire, frozen=True, kw_only=True):
    """What a policy is about, in its own namespace."""

    group: str = ""
    kind: str = ""
    name: str = ""
    section_name: str | None = None
