"""What can be read of an object that exceeds the limits, or does not match its definition.

- Fields that can be read are as they are; the others have their default, and a required one is empty.
- It is used to release an object that is being deleted, and for nothing else: without some of its fields, an object
  means something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

import msgspec

from seamark_runtime.untrusted.decoding import Limits, Malformed, check_json, decode_envelope

T = TypeVar("T", bound=msgspec.Struct)

EMPTY: tuple[object, ...] = ("", 0, False, (), {})  # one of them fits every required field that is no struct


def readable_part(raw: bytes | msgspec.Raw, kind: type[T], limits: Limits) -> T:
    """Raises Malformed where there is no object at all."""
    part: T = _part(decode_envelope(raw, _FIELDS), kind, limits)
    return part


_FIELDS = dict[str, msgspec.Raw]


def _part(raws: Mapping[str, msgspec.Raw], kind: type[Any], limits: Limits) -> Any:
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        raw = raws.get(field.encode_name)
        if raw is not None:
            try:
                values[field.name] = _decoded(bytes(raw), field.type, limits)
                continue
            except Malformed:
                if _is_struct(field.type):
                    values[field.name] = _part(_fields_of(raw), field.type, limits)
                    continue
        if field.required:
            values[field.name] = _empty(field.type, limits)
    return kind(**values)


def _decoded(raw: bytes, kind: Any, limits: Limits) -> Any:
    check_json(raw, limits)
    try:
        return msgspec.json.decode(raw, type=kind)
    except (ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        raise Malformed(str(error)) from None


def _fields_of(raw: msgspec.Raw) -> Mapping[str, msgspec.Raw]:
    try:
        return decode_envelope(raw, _FIELDS)
    except Malformed:
        return {}


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _empty(kind: Any, limits: Limits) -> Any:
    """Of that type, though the definition may not allow it."""
    if get_origin(kind) is Annotated:
        return _empty(get_args(kind)[0], limits)
    if _is_struct(kind):
        return _part({}, kind, limits)
    for value in EMPTY:
        try:
            return msgspec.convert(cast("Any", value), kind)
        except msgspec.ValidationError:
            continue
    return None
