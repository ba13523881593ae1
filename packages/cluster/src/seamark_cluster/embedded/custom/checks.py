"""The constraints of a schema node as functions, each with the API server's message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seamark_cluster.embedded.machinery.errors import (
    FieldError,
    Json,
    invalid,
    quoted,
    too_long,
    too_many,
    type_invalid,
    unsupported,
)
from seamark_cluster.embedded.machinery.formats import check_for, regex

Check = Callable[[Any, str, list[FieldError]], None]


def json_type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def type_problem(types: tuple[str, ...], value: Any, path: str, *, nullable: bool) -> FieldError | None:
    if not types or (value is None and nullable):
        return None
    found = json_type(value)
    if found in types or (found == "integer" and "number" in types):
        return None
    if found == "number" and "integer" in types and value.is_integer():
        return None
    wanted = ",".join(types)
    return type_invalid(path, found, f"{path} in body must be of type {wanted}: {quoted(found)}")


def compile_checks(schema: Json) -> list[Check]:
    checks = []
    for key, build in _BUILDERS.items():
        if key in schema and schema[key] not in (None, "", []) and schema[key] is not False:
            checks.append(build(schema))
    return checks


def _of_type(kinds: type | tuple[type, ...], inner: Check) -> Check:
    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        if isinstance(value, kinds) and not isinstance(value, bool):
            inner(value, path, errors)

    return check


def _length(schema: Json) -> Check:
    limit = schema["maxLength"]

    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        if len(value) > limit:
            errors.append(too_long(path, limit))

    return _of_type(str, check)


def _min_length(schema: Json) -> Check:
    limit = schema["minLength"]

    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        if len(value) < limit and not len(value) > schema.get("maxLength", len(value)):
            errors.append(invalid(path, value, f"{path} in body should be at least {limit} chars long"))

    return _of_type(str, check)


def _pattern(schema: Json) -> Check:
    pattern = schema["pattern"]
    compiled = regex(pattern)
    least, most = schema.get("minLength", 0), schema.get("maxLength")

    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        # The API server reports only the first violation of a string, and checks lengths first.
        if len(value) >= least and (most is None or len(value) <= most) and not compiled.search(value):
            errors.append(invalid(path, value, f"{path} in body should match '{pattern}'"))

    return _of_type(str, check)


def _format(schema: Json) -> Check:
    name, declared = schema["format"], schema.get("type")
    if declared == "integer" and name in ("int32", "int64"):
        return _integer_range(32 if name == "int32" else 64)
    known = check_for(name) if declared in (None, "", "string") else None

    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        if known is not None and not known(value):
            errors.append(type_invalid(path, value, f"{path} in body must be of type {name}: {quoted(value)}"))

    return _of_type(str, check)


def _integer_range(bits: int) -> Check:
    bound = 1 << (bits - 1)

    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        if not -bound <= value < bound:
            message = f"Checked value must be of type integer with format int{bits} in {path}"
            errors.append(invalid("<nil>", "", message))

    return _of_type(int, check)


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(value)


def _maximum(schema: Json) -> Check:
    limit, exclusive = schema["maximum"], schema.get("exclusiveMaximum", False)
    comparison = "less than" if exclusive else "less than or equal to"

    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        if value > limit or (exclusive and value == limit):
            errors.append(invalid(path, value, f"{path} in body should be {comparison} {_number(limit)}"))

    return _of_type((int, float), check)


def _minimum(schema: Json) -> Check:
    limit, exclusive = schema["minimum"], schema.get("exclusiveMinimum", False)
    comparison = "greater than" if exclusive else "greater than or equal to"

    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        if value < limit or (exclusive and value == limit):
            errors.append(invalid(path, value, f"{path} in body should be {comparison} {_number(limit)}"))

    return _of_type((int, float), check)


def _multiple(schema: Json) -> Check:
    factor = schema["multipleOf"]

    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        if value % factor:
            errors.append(invalid(path, value, f"{path} in body should be a multiple of {_number(factor)}"))

    return _of_type((int, float), check)


def _max_items(schema: Json) -> Check:
    limit = schema["maxItems"]

    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        if len(value) > limit:
            errors.append(too_many(path, len(value), limit))

    return _of_type(list, check)


def _min_items(schema: Json) -> Check:
    limit = schema["minItems"]

    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        if len(value) < limit:
            errors.append(invalid(path, len(value), f"{path} in body should have at least {limit} items"))

    return _of_type(list, check)


def _unique(schema: Json) -> Check:
    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        if any(item in value[:index] for index, item in enumerate(value)):
            errors.append(invalid(path, "", f"{path} in body shouldn't contain duplicates"))

    return _of_type(list, check)


def _max_properties(schema: Json) -> Check:
    limit = schema["maxProperties"]

    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        if len(value) > limit:
            errors.append(too_many(path, len(value), limit))

    return _of_type(dict, check)


def _min_properties(schema: Json) -> Check:
    limit = schema["minProperties"]

    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        if len(value) < limit:
            errors.append(invalid(path, len(value), f"{path} in body should have at least {limit} properties"))

    return _of_type(dict, check)


def _enum(schema: Json) -> Check:
    allowed = schema["enum"]
    shown = [item if isinstance(item, str) else repr(item) for item in allowed]

    def check(value: Any, path: str, errors: list[FieldError]) -> None:
        if value not in allowed:
            errors.append(unsupported(path, value, shown))

    return check


_BUILDERS: dict[str, Callable[[Json], Check]] = {
    "maxLength": _length,
    "minLength": _min_length,
    "pattern": _pattern,
    "format": _format,
    "multipleOf": _multiple,
    "maximum": _maximum,
    "minimum": _minimum,
    "minItems": _min_items,
    "maxItems": _max_items,
    "uniqueItems": _unique,
    "enum": _enum,
    "maxProperties": _max_properties,
    "minProperties": _min_properties,
}
