"""Conversions between types."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from seamark_runtime.cel.operators import bounded
from seamark_runtime.cel.values import CelError, UInt, no_overload, parse_duration, parse_timestamp

_LONGEST_NUMBER = 400  # characters of a text that is read as a number


def to_int(value: Any) -> int:
    if isinstance(value, datetime):
        return int(value.timestamp())
    return int(bounded(int(_number(value, "int", "ParseInt")), 0))


def to_uint(value: Any) -> UInt:
    return UInt(bounded(int(_number(value, "uint", "ParseUint")), UInt(0)))


def to_double(value: Any) -> float:
    if isinstance(value, str):
        try:
            return float(_plain(value))
        except ValueError:
            raise _no_number(value, "ParseFloat") from None
    return float(_number(value, "double", "ParseFloat"))


def _number(value: Any, kind: str, parse: str) -> int | float:
    if isinstance(value, str):
        digits = _plain(value).removeprefix("-").removeprefix("+")
        if not digits.isdigit() or len(value) - len(digits) > 1:
            raise _no_number(value, parse)
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise no_overload(kind)
    return value


def _plain(text: str) -> str:
    """The text, if it may be a number: Python also takes blanks, `_` and digits of other scripts."""
    return text if text.isascii() and len(text) <= _LONGEST_NUMBER and not {" ", "_", "\n", "\t"} & set(text) else ""


def _no_number(text: str, parse: str) -> CelError:
    return CelError(f'strconv.{parse}: parsing "{text[:_LONGEST_NUMBER]}": invalid syntax')


def _shown_double(value: float) -> str:
    return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelError("string: invalid UTF-8 in bytes") from None


_SHOWN: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (bool, lambda value: "true" if value else "false"),
    (str, str),
    (float, _shown_double),
    (int, lambda value: str(int(value))),
    (bytes, _decoded),
    (datetime, lambda value: value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")),
    (timedelta, lambda value: f"{_shown_double(value.total_seconds())}s"),
)


def to_string(value: Any) -> str:
    for kind, show in _SHOWN:
        if isinstance(value, kind):
            return show(value)
    if hasattr(value, "as_string"):
        return str(value.as_string())
    raise no_overload("string")


def to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in ("true", "True", "TRUE", "t", "1"):
        return True
    if isinstance(value, str) and value in ("false", "False", "FALSE", "f", "0"):
        return False
    raise no_overload("bool")


def to_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return value
    raise no_overload("bytes")


def to_duration(value: Any) -> timedelta:
    if isinstance(value, timedelta):
        return value
    if isinstance(value, str):
        return parse_duration(value)
    raise no_overload("duration")


def to_timestamp(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return datetime.fromtimestamp(value, UTC)
    if isinstance(value, str):
        return parse_timestamp(value)
    raise no_overload("timestamp")
