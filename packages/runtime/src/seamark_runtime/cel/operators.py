"""Operators, with CEL's rules for types and overflow. Every one is given the meter that it charges."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from seamark_runtime.cel.limits import Meter
from seamark_runtime.cel.values import INT_MAX, INT_MIN, UINT_MAX, CelError, Optional, UInt, compare, no_overload

Operator = Callable[[Meter, Any, Any], Any]


def _numbers(left: Any, right: Any) -> bool:
    """Two numbers of one type; ints, uints and doubles do not mix."""
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    for kind in (UInt, int, float):
        if isinstance(left, kind):
            return isinstance(right, kind) and isinstance(right, UInt) == (kind is UInt)
    return False


def bounded(value: Any, like: Any) -> Any:
    if isinstance(like, float):
        return float(value)
    if isinstance(like, UInt):
        if not 0 <= value <= UINT_MAX:
            raise CelError("unsigned integer overflow")
        return UInt(value)
    if not INT_MIN <= value <= INT_MAX:
        raise CelError("integer overflow")
    return value


def equal(meter: Meter, left: Any, right: Any) -> bool:
    """Equality across types: numbers compare by value, a bool is never a number.

    Lists may share their items, so that a small value is large when it is walked: each comparison is a step.
    """
    meter.charge(1)
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(equal(meter, *pair) for pair in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        meter.charge(len(left))
        return left.keys() == right.keys() and all(equal(meter, value, right[key]) for key, value in left.items())
    if isinstance(left, Optional) and isinstance(right, Optional):
        return left.present == right.present and equal(meter, left.value, right.value)
    return bool(left == right)


def add(meter: Meter, left: Any, right: Any) -> Any:
    if _numbers(left, right):
        return bounded(left + right, left)
    if any(isinstance(left, kind) and isinstance(right, kind) for kind in (str, bytes)):
        meter.make_text(len(left) + len(right))
        return left + right
    if isinstance(left, list) and isinstance(right, list):
        meter.charge(len(left) + len(right))
        return left + right
    if isinstance(left, datetime | timedelta) and isinstance(right, timedelta):
        return left + right
    if isinstance(left, timedelta) and isinstance(right, datetime):
        return right + left
    raise no_overload("_+_")


def subtract(_: Meter, left: Any, right: Any) -> Any:
    if _numbers(left, right):
        return bounded(left - right, left)
    if isinstance(left, datetime) and isinstance(right, datetime | timedelta):
        return left - right
    if isinstance(left, timedelta) and isinstance(right, timedelta):
        return left - right
    raise no_overload("_-_")


def multiply(_: Meter, left: Any, right: Any) -> Any:
    if _numbers(left, right):
        return bounded(left * right, left)
    raise no_overload("_*_")


def divide(_: Meter, left: Any, right: Any) -> Any:
    if not _numbers(left, right):
        raise no_overload("_/_")
    if isinstance(left, float):
        return left / right if right else float("nan") if not left else float("inf") * (1 if left > 0 else -1)
    if right == 0:
        raise CelError("division by zero")
    quotient = abs(left) // abs(right)
    return bounded(quotient if (left < 0) == (right < 0) else -quotient, left)


def modulo(_: Meter, left: Any, right: Any) -> Any:
    if not _numbers(left, right) or isinstance(left, float):
        raise no_overload("_%_")
    if right == 0:
        raise CelError("modulus by zero")
    rest = abs(left) % abs(right)
    return bounded(-rest if left < 0 else rest, left)


def contains(meter: Meter, item: Any, container: Any) -> bool:
    if isinstance(container, dict):
        return is_key(item) and item in container
    if isinstance(container, list):
        return any(equal(meter, item, candidate) for candidate in container)
    raise no_overload("@in")


def is_key(value: Any) -> bool:
    """Whether a map may have this key."""
    return isinstance(value, str | int | float)


def negative(value: Any) -> Any:
    if isinstance(value, bool | UInt) or not isinstance(value, int | float | timedelta):
        raise no_overload("-_")
    return -value if isinstance(value, timedelta) else bounded(-value, value)


def _ordered(name: str, test: Callable[[int], bool]) -> Operator:
    return lambda _, left, right: test(compare(left, right, name))


OPERATORS: dict[str, Operator] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": modulo,
    "in": contains,
    "==": equal,
    "!=": lambda meter, left, right: not equal(meter, left, right),
    "<": _ordered("_<_", lambda order: order < 0),
    "<=": _ordered("_<=_", lambda order: order <= 0),
    ">": _ordered("_>_", lambda order: order > 0),
    ">=": _ordered("_>=_", lambda order: order >= 0),
}
