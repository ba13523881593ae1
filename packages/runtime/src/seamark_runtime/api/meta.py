"""What every Kubernetes object has: identity, metadata, conditions.

- Structs are frozen: an object that left the cache can be kept, compared and shared.
- Unknown fields are dropped at decode, so a typed object is a *reading*; it is never sent back whole.
- `None` means "not set"; an encoded object contains only what is set.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, ClassVar, NamedTuple

import msgspec
from msgspec import Meta

from seamark_runtime.untrusted.names import ApiPath, InvalidName, NameRule, api_path, api_root, check_name


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """Base of everything on the wire. Frozen values can't form cycles, so the garbage collector need not visit them."""


class Resource(NamedTuple):
    """Where a kind lives in the API."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    names: NameRule = NameRule.SUBDOMAIN  # what the API server accepts as a name of this kind

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str | None = None, subresource: str = "") -> ApiPath:
        """The path of one object, or without a name of all of them. Raises InvalidName where no such object can be."""
        collection = _collection(self, namespace if self.namespaced else "")
        if name is None:
            return collection
        if self.namespaced and not namespace:
            raise InvalidName(f"{self.kind} is namespaced: its namespace must not be empty")
        segments = [check_name(name, self.names), *([subresource] if subresource else [])]
        return api_path(collection, *segments)

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


@lru_cache(maxsize=4096)
def _collection(resource: Resource, namespace: str) -> ApiPath:
    segments = ("namespaces", check_name(namespace, NameRule.LABEL)) if namespace else ()
    return api_path(api_root(resource.group, resource.version), *segments, resource.plural)


class Key(NamedTuple):
    """An object of a known kind: its namespace ("" for cluster-scoped kinds) and name."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class OwnerReference(Wire, frozen=True, kw_only=True):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Wire, frozen=True, kw_only=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: tuple[str, ...] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


class ManagedFields(Wire, frozen=True, kw_only=True):
    manager: str = ""
    subresource: str = ""
    time: str = ""


class ManagedMeta(ObjectMeta, frozen=True, kw_only=True):
    """With managedFields, for kinds whose status other controllers may write."""

    managed_fields: tuple[ManagedFields, ...] | None = None

    def has_status_of(self, manager: str) -> bool:
        return any((entry.manager, entry.subresource) == (manager, "status") for entry in self.managed_fields or ())


class Object(Wire, frozen=True, kw_only=True):
    """An object of the API. A subclass says where it lives (`RESOURCE`) and adds spec and status."""

    RESOURCE: ClassVar[Resource]

    metadata: ObjectMeta = ObjectMeta()

    @property
    def key(self) -> Key:
        return Key(self.metadata.namespace, self.metadata.name)

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def deleting(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    def label(self, name: str) -> str:
        return (self.metadata.labels or {}).get(name, "")

    def annotation(self, name: str) -> str:
        return (self.metadata.annotations or {}).get(name, "")


class Condition(Wire, frozen=True, kw_only=True, omit_defaults=False):
    """One observation about an object, as the API conventions define it."""

    type: Annotated[str, Meta(max_length=316)]
    status: Annotated[str, Meta(extra_json_schema={"enum": ["True", "False", "Unknown"]})]
    reason: Annotated[str, Meta(min_length=1, max_length=1024, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
    message: Annotated[str, Meta(max_length=32768)]
    last_transition_time: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    observed_generation: Annotated[int, Meta(ge=0)] | None = None


def to_wire(value: Any) -> Any:
    """A struct as the plain JSON values that go on the wire."""
    return msgspec.to_builtins(value)


def document(obj: Object) -> dict[str, Any]:
    """An object as a complete manifest: apiVersion and kind first, then what is set."""
    resource = obj.RESOURCE
    return {"apiVersion": resource.api_version, "kind": resource.kind, **to_wire(obj)}
