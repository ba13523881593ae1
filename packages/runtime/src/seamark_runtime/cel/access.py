"""Fields and items of values."""

from __future__ import annotations

from typing import Any

from seamark_runtime.cel.operators import is_key
from seamark_runtime.cel.values import NONE, CelError, Optional, no_overload

# Property names that are no identifiers of CEL are written with these.
_ESCAPED = {"__underscores__": "__", "__dot__": ".", "__dash__": "-", "__slash__": "/"}


def unescape(name: str) -> str:
    if "__" not in name:
        return name
    for escaped, plain in _ESCAPED.items():
        name = name.replace(escaped, plain)
    if name.startswith("__") and name.endswith("__") and len(name) > 4:
        return name[2:-2]
    return name


def map_key(value: Any) -> Any:
    if not is_key(value):
        raise no_overload("map key")
    return value


def selected(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        if key in value:
            return value[key]
        raise CelError(f"no such key: {key}")
    if isinstance(value, Optional):
        return maybe(value, key)
    raise no_overload(f"select {key}")


def indexed(value: Any, index: Any) -> Any:
    if isinstance(value, Optional):
        return maybe(value, index)
    if isinstance(value, dict):
        if map_key(index) in value:
            return value[index]
        raise CelError(f"no such key: {index}")
    if isinstance(value, list) and isinstance(index, int | float) and not isinstance(index, bool):
        if 0 <= index < len(value):
            return value[int(index)]
        raise CelError(f"index out of bounds: {index}")
    raise no_overload("_[_]")


def maybe(value: Any, key: Any) -> Optional:
    if isinstance(value, Optional):
        if not value.present:
            return NONE
        value = value.value
    if isinstance(value, dict):
        return Optional(present=True, value=value[key]) if map_key(key) in value else NONE
    if isinstance(value, list) and isinstance(key, int):
        return Optional(present=True, value=value[key]) if 0 <= key < len(value) else NONE
    raise no_overload("_?._")
