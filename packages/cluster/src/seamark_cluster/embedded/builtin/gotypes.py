"""The Go types of built-in kinds: what decoding into them and encoding again keeps, drops and adds.

`types.json` is the table of those types (fields, pointers, omitempty, list keys). From it each struct gets, once:

- a normaliser: unknown fields are dropped (and listed), empty optional values are removed, missing required ones become
  zero;
- the raw description, for strategic merge patches and for the shapes that merging needs (`goshapes`).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from seamark_runtime.quantity import InvalidQuantity, canonical

Description = dict[str, Any]
Unknown = list[str]
Normaliser = Callable[[Any, Unknown], Any]

DROP: Any = object()


class MismatchError(Exception):
    """A value can't be decoded into the type of its field."""

    def __init__(self, got: Any, wanted: str) -> None:
        super().__init__(f"json: cannot unmarshal {_json_type(got)} into Go value of type {wanted}")
        self.got = _json_type(got)
        self.wanted = wanted
        self.path: list[str] = []
        self.struct = ""

    def message(self) -> str:
        if not self.struct:
            return str(self)
        where = ".".join(reversed(self.path))
        return f"json: cannot unmarshal {self.got} into Go struct field {self.struct}.{where} of type {self.wanted}"


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


@cache
def table() -> dict[str, Description]:
    text = resources.files("seamark_cluster.embedded.builtin").joinpath("types.json").read_bytes()
    loaded: dict[str, Description] = msgspec.json.decode(text)
    return loaded


def fields_of(struct: str) -> dict[str, Description]:
    fields: dict[str, Description] = table()[struct]["fields"]
    return fields


# --- normalisers -----------------------------------------------------------------------------------------------


def _scalar(expected: type | tuple[type, ...], name: str) -> Normaliser:
    def normalise(value: Any, unknown: Unknown) -> Any:
        if not isinstance(value, expected) or (isinstance(value, bool) and name != "bool"):
            raise MismatchError(value, name)
        return value

    return normalise


def _quantity(value: Any, unknown: Unknown) -> Any:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise MismatchError(value, "resource.Quantity")
    try:
        return canonical(str(value))
    except InvalidQuantity as error:
        raise MismatchError(value, f"resource.Quantity: {error}") from None


_TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")


def _time(micro: bool) -> Normaliser:
    def normalise(value: Any, unknown: Unknown) -> Any:
        if not isinstance(value, str) or not _TIME.match(value):
            raise MismatchError(value, "v1.MicroTime" if micro else "v1.Time")
        if not value.endswith("Z"):
            value = _to_utc(value)
        whole, _, fraction = value[:-1].partition(".")
        return f"{whole}.{(fraction + '000000')[:6]}Z" if micro else f"{whole}Z"

    return normalise


def _to_utc(text: str) -> str:
    from datetime import UTC, datetime  # noqa: PLC0415 - only foreign time zones need it

    return datetime.fromisoformat(text).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _bytes(value: Any, unknown: Unknown) -> Any:
    if not isinstance(value, str):
        raise MismatchError(value, "[]uint8")
    try:
        return base64.b64encode(base64.b64decode(value, validate=True)).decode()
    except (binascii.Error, ValueError):
        raise MismatchError(value, "base64 data") from None


def _intstr(value: Any, unknown: Unknown) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise MismatchError(value, "intstr.IntOrString")
    return value


def _anything(value: Any, unknown: Unknown) -> Any:
    return value


_LEAVES: dict[str, Normaliser] = {
    "string": _scalar(str, "string"),
    "bool": _scalar(bool, "bool"),
    "int": _scalar(int, "int"),
    "int32": _scalar(int, "int32"),
    "int64": _scalar(int, "int64"),
    "float64": _scalar((int, float), "float64"),
    "quantity": _quantity,
    "time": _time(micro=False),
    "microtime": _time(micro=True),
    "duration": _scalar(str, "string"),
    "bytes": _bytes,
    "intstr": _intstr,
    "any": _anything,
    "schemaOrBool": _anything,
    "schemaOrArray": _anything,
}

ZEROS: dict[str, Any] = {
    "string": "",
    "bool": False,
    "int": 0,
    "int32": 0,
    "int64": 0,
    "float64": 0,
    "quantity": "0",
    "intstr": 0,
    "duration": "0s",
}


def go_type(description: Description) -> str:
    kind = description["t"]
    if kind == "list":
        return "[]" + go_type(description["of"])
    if kind == "map":
        return "map[string]" + go_type(description["of"])
    if kind == "struct":
        package, _, name = description["s"].rpartition(".")
        return f"{package.rpartition('/')[2]}.{name}"
    return str(kind)


def _raw(description: Description) -> Normaliser:
    """A value of the described type; nulls and empty values are the caller's responsibility."""
    kind = description["t"]
    if kind == "struct":
        name = description["s"]

        def later(value: Any, unknown: Unknown) -> Any:
            # Looked up on use: types may contain themselves.
            return normaliser(name)(value, unknown)

        return later
    if kind in ("list", "map"):
        item = _item(description["of"])
        shown = go_type(description)
        return _list(item, shown) if kind == "list" else _map(item, shown)
    return _LEAVES[kind]


def _item(description: Description) -> Normaliser:
    inner = _raw(description)
    zero = _zero(description)

    def normalise(value: Any, unknown: Unknown) -> Any:
        return inner(value, unknown) if value is not None else zero()

    return normalise


def _list(item: Normaliser, shown: str) -> Normaliser:
    def normalise(value: Any, unknown: Unknown) -> Any:
        if not isinstance(value, list):
            raise MismatchError(value, shown)
        result = []
        for index, entry in enumerate(value):
            before = len(unknown)
            result.append(item(entry, unknown))
            if len(unknown) != before:
                unknown[before:] = [f"[{index}].{name}" for name in unknown[before:]]
        return result

    return normalise


def _map(item: Normaliser, shown: str) -> Normaliser:
    def normalise(value: Any, unknown: Unknown) -> Any:
        if not isinstance(value, dict):
            raise MismatchError(value, shown)
        return {key: item(child, unknown) for key, child in value.items()}

    return normalise


def _zero(description: Description) -> Callable[[], Any]:
    if description.get("p") or description["t"] in ("list", "map", "time", "microtime", "bytes", "any"):
        return lambda: None
    if description["t"] == "struct":
        name = description["s"]
        return lambda: normaliser(name)({}, [])
    return lambda: ZEROS.get(description["t"])


class _Field:
    """How one field is normalised: its normaliser, and what null and empty values become."""

    __slots__ = ("always", "name", "normalise", "zero")

    def __init__(self, name: str, description: Description) -> None:
        self.name = name
        self.zero = _zero(description)
        pointer, kind = description.get("p", False), description["t"]
        optional = description.get("o", False) or description.get("z", False)
        # Go's encoder never omits structs, and these are structs.
        structural = kind in ("struct", "time", "microtime", "quantity", "intstr")
        self.always = not optional or (structural and not pointer and not description.get("z"))
        inner = _raw(description)
        if pointer or kind == "any":
            self.normalise = inner
        elif kind == "struct":
            self.normalise = _nonzero(inner) if description.get("z") else inner
        elif kind in ("list", "map"):
            self.normalise = _nonempty(inner, DROP if optional else None)
        elif optional and not (structural and not description.get("z")):
            empty = "" if kind in ("bytes", "time", "microtime") else ZEROS[kind]
            self.normalise = _unless(inner, empty)
        else:
            self.normalise = inner


def _nonempty(inner: Normaliser, otherwise: Any) -> Normaliser:
    return lambda value, unknown: inner(value, unknown) or otherwise


def _nonzero(inner: Normaliser) -> Normaliser:
    return lambda value, unknown: inner(value, unknown) or DROP


def _unless(inner: Normaliser, empty: Any) -> Normaliser:
    def normalise(value: Any, unknown: Unknown) -> Any:
        result = inner(value, unknown)
        return DROP if result == empty else result

    return normalise


@cache
def normaliser(struct: str) -> Normaliser:
    fields = {name: _Field(name, description) for name, description in fields_of(struct).items()}
    always = [field for field in fields.values() if field.always]
    shown = struct.rpartition(".")[2]

    def normalise(value: Any, unknown: Unknown) -> Any:
        if value is None:
            value = {}
        if not isinstance(value, dict):
            raise MismatchError(value, f"v1.{shown}")
        result = {}
        for key, child in value.items():
            field = fields.get(key)
            if field is None:
                unknown.append(key)
            elif child is not None:
                before = len(unknown)
                try:
                    normal = field.normalise(child, unknown)
                except MismatchError as error:
                    error.path.append(key)
                    error.struct = error.struct or shown
                    raise
                if normal is not DROP:
                    result[key] = normal
                if len(unknown) != before:
                    unknown[before:] = [_joined(key, name) for name in unknown[before:]]
        for field in always:
            if field.name not in result:
                result[field.name] = field.zero()
        return result

    return normalise


def _joined(key: str, rest: str) -> str:
    return f"{key}{rest}" if rest.startswith("[") else f"{key}.{rest}"
