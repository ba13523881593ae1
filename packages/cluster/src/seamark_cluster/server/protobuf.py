"""Request bodies in protobuf, decoded into JSON values.

- Typed clients, kubectl among them, send built-in kinds in this form. Responses are always JSON, which all of them
  accept.
- Fields are known by their numbers (`numbers.json`, written by `embedded/builtin/generate` with the argument `numbers`)
  and by their Go types (`types.json`). Unknown numbers are skipped, as protobuf requires.
- A field that Go's JSON encoder would omit is omitted.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from seamark_cluster.embedded.builtin.gotypes import table
from seamark_runtime.clock import micro_timestamp, timestamp

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
MAGIC = b"k8s\x00"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

DECODE_ERRORS = (
    IndexError,
    struct.error,
    UnicodeDecodeError,
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
    msgspec.DecodeError,
)

Json = dict[str, Any]
Field = tuple[int, Any]  # number and value: an int, or bytes


class Unreadable(ValueError):
    """The body is not a protobuf message of a known kind."""


def to_json(body: bytes) -> bytes:
    """The body of a request as JSON."""
    if not body.startswith(MAGIC):
        raise Unreadable("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        return msgspec.json.encode(_envelope(body[len(MAGIC) :]))
    except DECODE_ERRORS as error:
        raise Unreadable(f"the message can't be read: {error}") from error


def _envelope(data: bytes) -> Json:
    """Kubernetes wraps every object with its kind: 1 is the type, 2 the object itself."""
    parts = dict(_fields(data))
    names = dict(_fields(parts.get(1, b"")))
    api_version, kind = names.get(1, b"").decode(), names.get(2, b"").decode()
    struct_name = _struct_of(api_version, kind)
    if struct_name not in _numbers():
        raise Unreadable(f'no kind "{kind}" is registered for version "{api_version}"')
    return {"apiVersion": api_version, "kind": kind, **_message(struct_name, parts.get(2, b""))}


def _struct_of(api_version: str, kind: str) -> str:
    if kind == "DeleteOptions":
        return "meta/v1.DeleteOptions"
    group, _, version = api_version.rpartition("/")
    return f"{group.split('.')[0] or 'core'}/{version}.{kind}"


@cache
def _numbers() -> dict[str, dict[str, int | str]]:
    text = resources.files("seamark_cluster.server").joinpath("numbers.json").read_bytes()
    found: dict[str, dict[str, int | str]] = msgspec.json.decode(text)
    return found


@cache
def _by_number(struct_name: str, holder: str) -> dict[int, tuple[str, Json]]:
    """A message's fields: their names and Go types. In JSON the fields of an inlined type are those of its parent."""
    fields: dict[int, tuple[str, Json]] = {}
    types = table()[holder]["fields"]
    for name, number in _numbers()[struct_name].items():
        if isinstance(number, str):
            fields[int(name[1:])] = ("", {"t": "struct", "s": number})
        elif name in types:
            fields[number] = (name, types[name])
    return fields


# ---- the wire


def _fields(data: bytes) -> Iterator[Field]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, form = tag >> 3, tag & 7
        value: Any
        match form:
            case 0:
                value, at = _varint(data, at)
            case 1:
                value, at = data[at : at + 8], at + 8
            case 2:
                length, at = _varint(data, at)
                value, at = data[at : at + length], at + length
                if at > len(data):
                    raise IndexError("it ends too early")
            case 5:
                value, at = data[at : at + 4], at + 4
            case _:
                raise IndexError(f"wire type {form}")
        yield number, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


# ---- messages


def _message(struct_name: str, data: bytes, holder: str = "") -> Json:
    known = _by_number(struct_name, holder or struct_name)
    found: Json = {}
    for number, raw in _fields(data):
        if number not in known:
            continue
        name, described = known[number]
        if not name:
            found |= _message(described["s"], raw, holder or struct_name)
        elif described["t"] == "list":
            found.setdefault(name, []).extend(_items(described["of"], raw))
        elif described["t"] == "map":
            key, value = _entry(described["of"], raw)
            found.setdefault(name, {})[key] = value
        else:
            value = _value(described, raw)
            if not _left_out(described, value):
                found[name] = value
    return found


def _left_out(described: Json, value: Any) -> bool:
    if value is None:
        return True
    empty = value in ("", 0, False) and not isinstance(value, float) and described["t"] != "struct"
    return bool(empty and described.get("o") and not described.get("p"))


def _items(described: Json, raw: Any) -> list[Any]:
    whole = described["t"] in ("int32", "int64", "bool")
    if whole and isinstance(raw, bytes):  # packed: several numbers in one field
        numbers, at = [], 0
        while at < len(raw):
            number, at = _varint(raw, at)
            numbers.append(_signed(number))
        return numbers
    return [_value(described, raw)]


def _entry(described: Json, data: bytes) -> tuple[str, Any]:
    parts = dict(_fields(data))
    if described["t"] == "list":  # a list can't be a value in protobuf: it is a message with one repeated field
        inner = [_value(described["of"], raw) for number, raw in _fields(parts.get(2, b"")) if number == 1]
        return parts.get(1, b"").decode(), inner
    return parts.get(1, b"").decode(), _value(described, parts.get(2, b""))


def _value(described: Json, raw: Any) -> Any:  # noqa: PLR0911  a row per type
    match described["t"]:
        case "struct":
            return _message(described["s"], raw)
        case "string":
            return raw.decode()
        case "bool":
            return bool(raw)
        case "bytes":
            return base64.b64encode(raw).decode()
        case "float64":
            return struct.unpack("<d", raw)[0]
        case "time" | "microtime" | "duration" | "quantity" | "intstr" | "any" | "schemaOrBool" | "schemaOrArray":
            return _leaf(described["t"], dict(_fields(raw)), raw)
        case _:
            return _signed(raw)


def _leaf(type_: str, parts: dict[int, Any], raw: bytes) -> Any:  # noqa: PLR0911  a row per type
    """Types that are messages in protobuf and have another form in JSON."""
    match type_:
        case "time" | "microtime":
            if not parts.get(1) and not parts.get(2):
                return None
            moment = EPOCH + timedelta(seconds=_signed(parts.get(1, 0)), microseconds=parts.get(2, 0) // 1000)
            return timestamp(moment) if type_ == "time" else micro_timestamp(moment)
        case "duration":
            return f"{_signed(parts.get(1, 0)) / 1e9:g}s"
        case "quantity":
            return parts.get(1, b"").decode()
        case "intstr":
            return parts.get(3, b"").decode() if parts.get(1) else _signed(parts.get(2, 0))
        case "schemaOrBool":
            return _message(SCHEMA, parts[2]) if 2 in parts else bool(parts.get(1))
        case "schemaOrArray":
            return _message(SCHEMA, parts[1]) if 1 in parts else [_message(SCHEMA, item) for _, item in _fields(raw)]
        case _:
            return msgspec.json.decode(parts[1]) if parts.get(1) else None


SCHEMA = "apiextensions/v1.JSONSchemaProps"
