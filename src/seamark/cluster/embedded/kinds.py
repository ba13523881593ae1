"""What the store knows about a kind: where it lives, how its objects are read, and the rules they live by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from seamark.cluster.embedded.fieldsets import Trie
from seamark.cluster.embedded.shapes import Shape
from seamark.cluster.embedded.status import FieldError, Json

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Names:
    """How a kind is called and where it is found."""

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
    """The switches that differ between kinds."""

    verbs: tuple[str, ...] = ALL_VERBS
    create_on_update: bool = False
    unconditional_update: bool = True
    collects: bool = True
    """Whether deletion may ask for dependents to be orphaned or deleted first."""
    subresources: tuple[str, ...] = ()
    reset: Trie | None = None
    reset_status: Trie | None = None
    stored: bool = True
    deprecated: str = ""
    """What every request is warned of."""


class Kind:
    """One kind in one version.

    - `read` turns a document from outside into an object: unknown fields dropped and named, defaults filled in.
    - `prepare_*` and `validate_*` are the rules of create, update and status update. New objects may be changed,
      old ones never.
    - Objects are stored once per resource, in one version; `serve` shows a stored one in this version, `live` is what
      the next write starts from.
    """

    def __init__(self, names: Names, shape: Shape, policy: Policy) -> None:
        self.names = names
        self.shape = shape
        self.policy = policy
        self.storage = names.resource

    @property
    def invalid_group(self) -> str:
        """The group that a refusal of an invalid object names."""
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
        """Why the fields of an applied configuration can't be told apart; nothing where they can."""
        raise NotImplementedError

    def empty(self) -> Json:
        """The object before anything was said about it: what the first write is compared with."""
        return {"apiVersion": self.names.api_version, "kind": self.names.kind, "metadata": {}}

    def serve(self, stored: Json) -> Json:
        return stored

    def live(self, stored: Json) -> Json:
        return self.serve(stored)

    def warnings(self, new: Json) -> list[str]:
        """What a writer is told about an object that is accepted all the same."""
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
        """Make a new object ready: what a user may not set is cleared."""

    def prepare_update(self, new: Json, old: Json) -> None:
        """Keep what this door may not change, and count generations."""

    def prepare_status(self, new: Json, old: Json) -> None:
        """The status door changes only the status."""
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
        """Which path a field selector's label reads."""
        return label if label in ("metadata.name", "metadata.namespace") else None

    def unknown_field(self, label: str) -> str:
        return f"field label not supported: {label}"

    def grace(self, obj: Json, asked: int | None) -> int | None:
        """How long deletion waits for somebody to finish; nothing where it does not wait at all."""
        del obj, asked
        return None


def list_document(kind: Kind, items: list[Any], metadata: Json) -> Json:
    names = kind.names
    return {
        "kind": names.list_kind or f"{names.kind}List",
        "apiVersion": names.api_version,
        "metadata": metadata,
        "items": items,
    }
