"""What the store needs of a kind: its names, how its objects are read, and its rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seamark_cluster.embedded.machinery.errors import FieldError, Json
from seamark_cluster.embedded.machinery.fieldsets import Trie
from seamark_cluster.embedded.machinery.shapes import Shape

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a kind, and its place in the API."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    singular: str = ""
    short: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    list_kind: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(frozen=True, slots=True)
class Policy:
    """Options that differ between kinds."""

    verbs: tuple[str, ...] = ALL_VERBS
    create_on_update: bool = False
    unconditional_update: bool = True
    collects: bool = True
    """Whether deletion supports orphan and foreground propagation."""
    subresources: tuple[str, ...] = ()
    reset: Trie | None = None
    reset_status: Trie | None = None
    stored: bool = True
    deprecated: str = ""
    """A warning in every response."""


class Kind:
    """One kind in one version.

    - `read` turns a document of a client into an object: unknown fields are dropped and listed, defaults filled in.
    - `prepare_*` and `validate_*` are the rules of create, update and status update. They may change new objects, never
      old ones.
    - Objects are stored once per resource, in one version; `serve` converts a stored one to this version, `live` is the
      base of the next write.
    """

    def __init__(self, names: Names, shape: Shape, policy: Policy) -> None:
        self.names = names
        self.shape = shape
        self.policy = policy
        self.storage = names.resource

    @property
    def invalid_group(self) -> str:
        """The group in the error about an invalid object."""
        return self.names.group

    @property
    def has_status(self) -> bool:
        return "status" in self.policy.subresources

    def read(self, document: Json, unknown: list[str]) -> Json:
        raise NotImplementedError

    def recognised(self, document: Json) -> Json:
        """The document with apiVersion and kind, if it is of this kind."""
        raise NotImplementedError

    def misfit(self, config: Json) -> str:
        """Why the fields of an applied configuration can't be owned; empty if they can."""
        raise NotImplementedError

    def empty(self) -> Json:
        """The empty object that the first write is compared with."""
        return {"apiVersion": self.names.api_version, "kind": self.names.kind, "metadata": {}}

    def serve(self, stored: Json) -> Json:
        return stored

    def live(self, stored: Json) -> Json:
        return self.serve(stored)

    def warnings(self, new: Json) -> list[str]:
        """Warnings about an object that is accepted."""
        del new
        return []

    def list_metadata(self, version: str) -> Json:
        return {"resourceVersion": version}

    def listed(self, obj: Json) -> Json:
        """An object as an item of a list."""
        return obj

    def store(self, obj: Json) -> Json:
        return obj

    def prepare_create(self, obj: Json) -> None:
        """Prepares a new object: fields that a user may not set are cleared."""

    def prepare_update(self, new: Json, old: Json) -> None:
        """Restores what an update of the object may not change, and increments the generation."""

    def prepare_status(self, new: Json, old: Json) -> None:
        """Restores everything but the status."""
        for key in [key for key in new if key not in ("status", "metadata")]:
            if key not in old:
                del new[key]
        for key, value in old.items():
            if key not in ("status", "metadata"):
                new[key] = value

    def validate_create(self, obj: Json) -> list[FieldError]:
        return []

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        return []

    def validate_status(self, new: Json, old: Json) -> list[FieldError]:
        return []

    def field_path(self, label: str) -> str | None:
        """The path that a field selector's label reads."""
        return label if label in ("metadata.name", "metadata.namespace") else None

    def unknown_field(self, label: str) -> str:
        return f"field label not supported: {label}"

    def grace(self, obj: Json, requested: int | None) -> int | None:
        """Seconds of grace before deletion; None for none."""
        del obj, requested
        return None


def list_document(kind: Kind, items: list[Any], metadata: Json) -> Json:
    names = kind.names
    return {
        "kind": names.list_kind or f"{names.kind}List",
        "apiVersion": names.api_version,
        "metadata": metadata,
        "items": items,
    }
