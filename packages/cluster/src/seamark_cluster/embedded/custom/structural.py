"""A structural schema, compiled once: pruning, defaulting, validation and the shape for merging.

- `prune` drops unknown fields (and lists them) and nulls that are not allowed; it never changes its input.
- `fill` adds defaults, and returns its input where there is nothing to add.
- `check` validates, with the API server's messages. Unchanged parts of the old value are not checked (ratcheting).
"""

from __future__ import annotations

from typing import Any

from seamark_cluster.embedded.custom.checks import Check, compile_checks, type_problem
from seamark_cluster.embedded.custom.logic import LOGICAL, Logic
from seamark_cluster.embedded.machinery.errors import FieldError, Json, duplicate, required
from seamark_cluster.embedded.machinery.merging import MISSING

_MISFITS: dict[str, tuple[str, Any]] = {
    "string": ("string", str),
    "integer": ("numeric (int or float)", (int, float)),
    "number": ("numeric (int or float)", (int, float)),
    "boolean": ("boolean", bool),
    "object": ("map", dict),
    "array": ("list", list),
}

_ROOT_FIELDS = ("apiVersion", "kind", "metadata")


class Structural:
    """One node of a schema."""

    __slots__ = (
        "additional",
        "checks",
        "default",
        "defaults_below",
        "embedded",
        "has_rules",
        "items",
        "keys",
        "list_type",
        "logic",
        "nullable",
        "preserve",
        "properties",
        "required",
        "schema",
        "types",
    )

    def __init__(self, schema: Json) -> None:
        self.schema = schema
        self.properties = {name: Structural(child) for name, child in (schema.get("properties") or {}).items()}
        additional = schema.get("additionalProperties")
        self.additional = Structural(additional) if isinstance(additional, dict) else None
        self.items = Structural(schema["items"]) if isinstance(schema.get("items"), dict) else None
        self.preserve: bool = schema.get("x-kubernetes-preserve-unknown-fields", False) or additional is True
        self.embedded: bool = schema.get("x-kubernetes-embedded-resource", False)
        self.nullable: bool = schema.get("nullable", False)
        self.default: Any = schema.get("default", MISSING)
        if self.default is None:
            self.default = MISSING
        self.required: tuple[str, ...] = tuple(schema.get("required") or ())
        self.list_type: str = schema.get("x-kubernetes-list-type", "")
        self.keys: tuple[str, ...] = tuple(schema.get("x-kubernetes-list-map-keys") or ())
        declared = schema.get("type", "")
        self.types = ("integer", "string") if schema.get("x-kubernetes-int-or-string") else (declared,) * bool(declared)
        self.checks: list[Check] = compile_checks(schema)
        self.logic = Logic(schema, Structural) if LOGICAL & schema.keys() else None
        below = [*self.properties.values(), *(entry for entry in (self.additional, self.items) if entry is not None)]
        self.defaults_below: bool = any(element.default is not MISSING or element.defaults_below for element in below)
        self.has_rules: bool = bool(schema.get("x-kubernetes-validations")) or any(item.has_rules for item in below)

    def child(self, key: str) -> Structural | None:
        return self.properties.get(key) or self.additional

    # --- pruning

    def prune(self, value: Any, unknown: list[str], *, root: bool = False) -> Any:
        if isinstance(value, dict):
            return self._prune_object(value, unknown, keep=_ROOT_FIELDS if root or self.embedded else ())
        if isinstance(value, list) and self.items is not None:
            result = []
            for index, item in enumerate(value):
                before = len(unknown)
                result.append(self.items.prune(item, unknown))
                if len(unknown) != before:
                    unknown[before:] = [f"[{index}]{_dotted(name)}" for name in unknown[before:]]
            return result
        return value

    def _prune_object(self, value: Json, unknown: list[str], keep: tuple[str, ...]) -> Json:
        result: Json = {}
        for key, item in value.items():
            child = self.child(key)
            if key in keep:  # an object's own metadata is never pruned
                result[key] = item
            elif child is None:
                if self.preserve:
                    result[key] = item
                else:
                    unknown.append(key)
            elif item is None and not child.nullable and child.default is MISSING:
                continue
            else:
                before = len(unknown)
                result[key] = child.prune(item, unknown)
                if len(unknown) != before:
                    unknown[before:] = [f"{key}{_dotted(name)}" for name in unknown[before:]]
        return result

    def misfit(self, value: Any, path: str) -> str:
        """Why an applied value does not match this schema, so that its fields can't be owned; empty if it does."""
        if value is None:
            return ""
        wanted = _MISFITS.get(self.types[0] if len(self.types) == 1 else "")
        if wanted is not None and not isinstance(value, wanted[1]):
            return f"{path}: expected {wanted[0]}, got {value!r}"
        if isinstance(value, dict):
            for key, entry in value.items():
                child = self.child(key)
                if child is None and not self.preserve and (self.properties or self.types == ("object",)):
                    return f"{path}.{key}: field not declared in schema"
                found = child.misfit(entry, f"{path}.{key}") if child is not None else ""
                if found:
                    return found
        elif isinstance(value, list) and self.items is not None:
            seen: list[Any] = []
            for index, item in enumerate(value):
                found = self.items.misfit(item, f"{path}[{index}]")
                name = self.key_of(item) if self.list_type == "map" else item
                if found or (self.list_type in ("set", "map") and name in seen):
                    return found or f"{path}: duplicate entries for key [{index}]"
                seen.append(name)
        return ""

    # --- defaulting

    def fill(self, value: Any) -> Any:
        if not self.defaults_below:
            return value
        if isinstance(value, dict):
            return self._fill_object(value)
        if isinstance(value, list) and self.items is not None:
            filled = [self.items.fill(self.items.instead_of_null(item)) for item in value]
            return filled if any(new is not old for new, old in zip(filled, value, strict=True)) else value
        return value

    def instead_of_null(self, value: Any) -> Any:
        return self.default if value is None and not self.nullable and self.default is not MISSING else value

    def _fill_object(self, value: Json) -> Json:
        result = value
        for key, child in self.properties.items():
            old = value.get(key, MISSING)
            new = child.default if old is MISSING else child.instead_of_null(old)
            if new is MISSING:
                continue
            new = child.fill(new)
            if new is not old:
                if result is value:
                    result = dict(value)
                result[key] = new
        if self.additional is not None:
            for key, old in value.items():
                if key not in self.properties:
                    new = self.additional.fill(self.additional.instead_of_null(old))
                    if new is not old:
                        if result is value:
                            result = dict(value)
                        result[key] = new
        return result

    # --- validation

    def check(self, value: Any, path: str, errors: list[FieldError], old: Any = MISSING) -> None:
        if old is not MISSING and old == value:
            return
        problem = type_problem(self.types, value, path, nullable=self.nullable)
        if problem is not None:
            errors.append(problem)
            return
        if self.logic is not None:
            self.logic.check(value, path, errors)
        for check in self.checks:
            check(value, path, errors)
        if isinstance(value, dict):
            self._check_object(value, path, errors, old)
        elif isinstance(value, list) and self.items is not None:
            olds = self.correlated(old)
            for index, item in enumerate(value):
                self.items.check(item, f"{path}[{index}]", errors, olds.get(self.key_of(item), MISSING))

    def _check_object(self, value: Json, path: str, errors: list[FieldError], old: Any) -> None:
        olds = old if isinstance(old, dict) else {}
        for key, item in value.items():
            child = self.child(key)
            if child is not None:
                where = f"{path}.{key}" if path else key
                child.check(item, where, errors, olds.get(key, MISSING))
        for key in self.required:
            if key not in value:
                errors.append(required(f"{path}.{key}" if path else key))

    def key_of(self, item: Any) -> Any:
        """The key of an item of a keyed list; None for other lists."""
        if self.list_type != "map" or not isinstance(item, dict):
            return None
        return tuple(str(item.get(key, self.key_default(key))) for key in self.keys)

    def key_default(self, key: str) -> Any:
        child = self.items.properties.get(key) if self.items else None
        return child.default if child is not None and child.default is not MISSING else None

    def correlated(self, old: Any) -> dict[Any, Any]:
        if self.list_type != "map" or not isinstance(old, list):
            return {}
        return {self.key_of(item): item for item in old}

    def check_lists(self, value: Any, path: str, errors: list[FieldError]) -> None:
        """Sets and keyed lists have no duplicates."""
        if isinstance(value, dict):
            for key, entry in value.items():
                child = self.child(key)
                if child is not None and isinstance(entry, (dict, list)):
                    child.check_lists(entry, f"{path}.{key}" if path else key, errors)
        elif isinstance(value, list):
            self._check_duplicates(value, path, errors)
            if self.items is not None:
                for index, item in enumerate(value):
                    self.items.check_lists(item, f"{path}[{index}]", errors)

    def _check_duplicates(self, value: list[Any], path: str, errors: list[FieldError]) -> None:
        if self.list_type not in ("set", "map"):
            return
        seen: list[Any] = []
        for index, item in enumerate(value):
            shown = item
            if self.list_type == "map" and isinstance(item, dict):
                shown = {key: item[key] for key in self.keys if key in item}
            if shown in seen:
                errors.append(duplicate(f"{path}[{index}]", shown))
            seen.append(shown)


def _dotted(rest: str) -> str:
    return rest if rest.startswith("[") else f".{rest}"
