"""CEL's values in Python: numbers, strings, lists and maps are Python's own; the rest is here."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any


class CelError(Exception):
    """An expression can't be evaluated: a missing key, a division by zero, operands that do not fit."""


class SyntaxProblem(Exception):
    """The text is no expression."""


class UInt(int):
    """An unsigned integer: a number that is not equal in type to an int."""


class Type(str):
    """What `type(x)` gives."""

    __slots__ = ()


class Optional:
    """A value that may be missing, as `?.` and `optional.of` make them."""

    __slots__ = ("present", "value")

    def __init__(self, present: bool, value: Any = None) -> None:
        self.present = present
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Optional) and (self.present, self.value) == (other.present, other.value)

    def __hash__(self) -> int:
        return hash((self.present, str(self.value)))


NONE = Optional(present=False)


def type_name(value: Any) -> str:
    for kind, name in (
        (bool, "bool"),
        (UInt, "uint"),
        (int, "int"),
        (float, "double"),
        (Type, "type"),
        (str, "string"),
        (bytes, "bytes"),
        (list, "list"),
        (dict, "map"),
        (datetime, "google.protobuf.Timestamp"),
        (timedelta, "google.protobuf.Duration"),
    ):
        if isinstance(value, kind):
            return name
    if value is None:
        return "null_type"
    return getattr(value, "cel_type", type(value).__name__)


def equal(left: Any, right: Any) -> bool:
    """Equality across types: numbers compare by value, a bool is never a number."""
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(equal(one, other) for one, other in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(value, right[key]) for key, value in left.items())
    return bool(left == right)


def no_overload(name: str) -> CelError:
    return CelError(f"no such overload: {name}")


_ORDERED: tuple[Any, ...] = ((int, float), (str,), (bytes,), (datetime,), (timedelta,))


def compare(left: Any, right: Any, name: str) -> int:
    if isinstance(left, bool) and isinstance(right, bool):
        return int(left) - int(right)
    for kinds in _ORDERED:
        if isinstance(left, kinds) and isinstance(right, kinds) and not isinstance(left, bool | Type):
            if isinstance(right, bool):
                break
            return int(left > right) - int(left < right)
    if hasattr(left, "compare_to") and type(left) is type(right):
        result: int = left.compare_to(right)
        return result
    raise no_overload(name)


_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def parse_duration(text: str) -> timedelta:
    import re  # noqa: PLC0415 - durations are rare

    if text == "0":
        return timedelta(0)
    match = re.fullmatch(r"([+-]?)((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))+)", text)
    if match is None:
        raise CelError(f'time: invalid duration "{text}"')
    total = 0.0
    for number, unit in re.findall(r"(\d+\.?\d*|\.\d+)(ns|us|µs|ms|s|m|h)", match.group(2)):
        total += float(number) * _UNITS[unit]
    return timedelta(seconds=-total if match.group(1) == "-" else total)


def parse_timestamp(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise CelError(f'parsing time "{text}" failed') from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
