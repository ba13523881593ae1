"""Operators, with CEL's rules for types and overflow."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from seamark.cluster.embedded.cel.values import CelError, UInt, compare, equal, no_overload

_MAX, _MIN, _UMAX = 2**63 - 1, -(2**63), 2**64 - 1


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
        if not 0 <= value <= _UMAX:
            raise CelError("unsigned integer overflow")
        return UInt(value)
    if not _MIN <= value <= _MAX:
        raise CelError("integer overflow")
    return value


def add(left: Any, right: Any) -> Any:
    if _numbers(left, right):
        return bounded(left + right, left)
    if any(isinstance(left, kind) and isinstance(right, kind) for kind in (str, bytes, list)):
        return left + right
    if isinstance(left, (datetime, timedelta)) and isinstance(right, timedelta):
        return left + right
    if isinstance(left, timedelta) and isinstance(right, datetime):
        return right + left
    raise no_overload("_+_")


def subtract(left: Any, right: Any) -> Any:
    if _numbers(left, right):
        return bounded(left - right, left)
    if isinstance(left, datetime) and isinstance(right, (datetime, timedelta)):
        return left - right
    if isinstance(left, timedelta) and isinstance(right, timedelta):
        return left - right
    raise no_overload("_-_")


def multiply(left: Any, right: Any) -> Any:
    if _numbers(left, right):
        return bounded(left * right, left)
    raise no_overload("_*_")


def divide(left: Any, right: Any) -> Any:
    if not _numbers(left, right):
        raise no_overload("_/_")
    if isinstance(left, float):
        return left / right if right else float("nan") if not left else float("inf") * (1 if left > 0 else -1)
    if right == 0:
        raise CelError("division by zero")
    quotient = abs(left) // abs(right)
    return bounded(quotient if (left < 0) == (right < 0) else -quotient, left)


def modulo(left: Any, right: Any) -> Any:
    if not _numbers(left, right) or isinstance(left, float):
        raise no_overload("_%_")
    if right == 0:
        raise CelError("modulus by zero")
    rest = abs(left) % abs(right)
    return bounded(-rest if left < 0 else rest, left)


def contains(item: Any, container: Any) -> bool:
    if isinstance(container, dict):
        return item in container
    if isinstance(container, list):
        return any(equal(item, one) for one in container)
    raise no_overload("@in")


def _ordered(name: str, test: Callable[[int], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: test(compare(left, right, name))


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": modulo,
    "in": contains,
    "==": equal,
    "!=": lambda left, right: not equal(left, right),
    "<": _ordered("_<_", lambda order: order < 0),
    "<=": _ordered("_<=_", lambda order: order <= 0),
    ">": _ordered("_>_", lambda order: order > 0),
    ">=": _ordered("_>=_", lambda order: order >= 0),
}


def logical_and(left: Callable[[Any], Any], right: Callable[[Any], Any], env: Any) -> bool:
    """False on either side decides, whatever befalls the other."""
    return _logical(left, right, env, decisive=False)


def logical_or(left: Callable[[Any], Any], right: Callable[[Any], Any], env: Any) -> bool:
    return _logical(left, right, env, decisive=True)


def _logical(left: Callable[[Any], Any], right: Callable[[Any], Any], env: Any, *, decisive: bool) -> bool:
    failure: CelError | None = None
    for side in (left, right):
        try:
            value = side(env)
        except CelError as error:
            failure = failure or error
            continue
        if not isinstance(value, bool):
            failure = failure or no_overload("_||_" if decisive else "_&&_")
        elif value is decisive:
            return decisive
    if failure is not None:
        raise failure
    return not decisive
