"""allOf, anyOf, oneOf and not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from seamark_cluster.embedded.machinery.errors import FieldError, Json, invalid


class Checked(Protocol):
    """Validates a value."""

    def check(self, value: Any, path: str, errors: list[FieldError]) -> None: ...


LOGICAL = {"allOf", "anyOf", "oneOf", "not"}


class Logic:
    """allOf, anyOf, oneOf and not: they only validate, and their errors have no field of their own."""

    __slots__ = ("all_of", "any_of", "not_", "one_of")

    def __init__(self, schema: Json, compiled: Callable[[Json], Checked]) -> None:
        self.all_of = [compiled(child) for child in schema.get("allOf") or ()]
        self.any_of = [compiled(item) for item in schema.get("anyOf") or ()]
        self.one_of = [compiled(entry) for entry in schema.get("oneOf") or ()]
        self.not_ = compiled(schema["not"]) if schema.get("not") else None

    def check(self, value: Any, path: str, errors: list[FieldError]) -> None:
        if self.any_of:
            results = self._results(self.any_of, value, path)
            if all(results):
                errors.append(_composite(f'"{path}" must validate at least one schema (anyOf)'))
                errors += _fewest(results)
        if self.one_of:
            results = self._results(self.one_of, value, path)
            valid = sum(1 for item in results if not item)
            if valid != 1:
                found = "Found none valid" if not valid else f"Found {valid} valid alternatives"
                errors.append(_composite(f'"{path}" must validate one and only one schema (oneOf). {found}'))
                errors += _fewest(results) if not valid else []
        if self.all_of:
            results = self._results(self.all_of, value, path)
            failed = [result for result in results if result]
            if failed:
                none = ". None validated" if len(failed) == len(results) else ""
                errors += [error for entry in failed for error in entry]
                errors.append(_composite(f'"{path}" must validate all the schemas (allOf){none}'))
        if self.not_ is not None and not self._results([self.not_], value, path)[0]:
            errors.append(_composite(f'"{path}" must not validate the schema (not)'))

    @staticmethod
    def _results(schemas: list[Checked], value: Any, path: str) -> list[list[FieldError]]:
        results = []
        for schema in schemas:
            found: list[FieldError] = []
            schema.check(value, path, found)
            results.append(found)
        return results


def _fewest(results: list[list[FieldError]]) -> list[FieldError]:
    return min(results, key=len)


def _composite(message: str) -> FieldError:
    return invalid("<nil>", "", message)
