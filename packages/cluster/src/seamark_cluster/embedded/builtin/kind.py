"""A built-in kind: a Go type, its defaults, and its rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from seamark_cluster.embedded.builtin.goshapes import shape_of
from seamark_cluster.embedded.builtin.gotypes import MismatchError, normaliser
from seamark_cluster.embedded.machinery.errors import FieldError, Json, bad_request, invalid
from seamark_cluster.embedded.machinery.kinds import Kind, Names, Policy
from seamark_cluster.embedded.machinery.metadata import check_metadata
from seamark_cluster.embedded.machinery.names import NameCheck, subdomain

Change = Callable[[Json], None]
Update = Callable[[Json, Json], None]
Check = Callable[[Json], list[FieldError]]
UpdateCheck = Callable[[Json, Json], list[FieldError]]


def nothing(*objects: Json) -> None:
    """No rule."""


def as_stored(obj: Json) -> Json:
    return obj


def no_warnings(obj: Json) -> list[str]:
    del obj
    return []


def no_errors(*objects: Json) -> list[FieldError]:
    return []


@dataclass(frozen=True, slots=True)
class Rules:
    """How one built-in kind differs from the others."""

    default: Change = nothing
    create: Change = nothing
    update: Update = nothing
    status: Update = nothing
    validate: Check = no_errors
    validate_update: UpdateCheck = no_errors
    validate_status: UpdateCheck = no_errors
    name: NameCheck = subdomain
    fields: tuple[str, ...] = ()
    generation: tuple[str, ...] = ()
    """The parts of the object whose change increments the generation; empty for a kind without one."""
    keeps_status: bool = False
    """Whether a create may set the status."""
    immutable: tuple[str, ...] = ()
    show: Callable[[Json], Json] = as_stored
    """The object as readers get it."""
    decode: Callable[[Json], Json] = as_stored
    """Defaults added when a stored object is read: by readers, and by the next write."""
    warn: Callable[[Json], list[str]] = no_warnings
    grace: Callable[[Json, int | None], int | None] | None = None


class BuiltinKind(Kind):
    """A kind whose schema is a Go type of the API server."""

    def __init__(self, names: Names, struct: str, policy: Policy, rules: Rules) -> None:
        super().__init__(names, shape_of(struct), policy)
        self.struct = struct
        self.rules = rules
        self._normalise = normaliser(struct)

    def read(self, document: Json, unknown: list[str]) -> Json:
        obj = self.normalised(document, unknown)
        self.rules.default(obj)
        return obj

    def recognised(self, document: Json) -> Json:
        names = self.names
        api_version, name = document.get("apiVersion") or names.api_version, document.get("kind") or names.kind
        if (api_version, name) != (names.api_version, names.kind):
            version = api_version.rpartition("/")[2]
            raise bad_request(
                f'{name} in version "{version}" cannot be handled as a {names.kind}: '
                f'no kind "{name}" is registered for version "{api_version}"'
            )
        return {**document, "apiVersion": api_version, "kind": name}

    def misfit(self, config: Json) -> str:
        unknown: list[str] = []
        try:
            self._normalise(config, unknown)
        except MismatchError as error:
            return error.message()
        return f".{unknown[0]}: field not declared in schema" if unknown else ""

    def normalised(self, document: Json, unknown: list[str]) -> Json:
        try:
            obj: Json = self._normalise(document, unknown)
        except MismatchError as error:
            kind, version = self.names.kind, self.names.version
            raise bad_request(
                f'{kind} in version "{version}" cannot be handled as a {kind}: {error.message()}'
            ) from None
        obj["apiVersion"] = self.names.api_version
        obj["kind"] = self.names.kind
        return obj

    def listed(self, obj: Json) -> Json:
        return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}

    def unknown_field(self, label: str) -> str:
        if self.rules.fields:
            return super().unknown_field(label)
        return f'"{label}" is not a known field selector: only "metadata.name", "metadata.namespace"'

    def empty(self) -> Json:
        return self.normalised({}, [])

    def serve(self, stored: Json) -> Json:
        return self.rules.show(self.rules.decode(stored))

    def live(self, stored: Json) -> Json:
        return self.rules.decode(stored)

    def warnings(self, new: Json) -> list[str]:
        return self.rules.warn(new)

    def prepare_create(self, obj: Json) -> None:
        if self.has_status and not self.rules.keeps_status:
            obj["status"] = self.empty()["status"]
        if self.rules.generation:
            obj["metadata"]["generation"] = 1
        self.rules.create(obj)

    def prepare_update(self, new: Json, old: Json) -> None:
        if self.has_status:
            new["status"] = old["status"]
        self.rules.update(new, old)
        if any(_part(new, path) != _part(old, path) for path in self.rules.generation):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def prepare_status(self, new: Json, old: Json) -> None:
        super().prepare_status(new, old)
        self.rules.status(new, old)

    def validate_create(self, obj: Json) -> list[FieldError]:
        errors = check_metadata(obj["metadata"], self.rules.name, namespaced=self.names.namespaced)
        return errors + self.rules.validate(obj)

    def validate_update(self, new: Json, old: Json) -> list[FieldError]:
        errors = [
            invalid(path, _part(new, path), "field is immutable")
            for path in self.rules.immutable
            if _part(new, path) != _part(old, path)
        ]
        return errors + self.validate_again(new) + self.rules.validate_update(new, old)

    def validate_again(self, new: Json) -> list[FieldError]:
        """The rules for a new object also apply to a changed one."""
        return self.rules.validate(new)

    def validate_status(self, new: Json, old: Json) -> list[FieldError]:
        return self.rules.validate_status(new, old)

    def field_path(self, label: str) -> str | None:
        return super().field_path(label) or (label if label in self.rules.fields else None)

    def grace(self, obj: Json, requested: int | None) -> int | None:
        return self.rules.grace(obj, requested) if self.rules.grace else None


def _part(obj: Json, path: str) -> Any:
    value: Any = obj
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
