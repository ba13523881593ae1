"""Functions over lists and sets."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from seamark_runtime.cel import strings
from seamark_runtime.cel.functions import Cost, Function, Result
from seamark_runtime.cel.limits import Meter
from seamark_runtime.cel.operators import add, equal
from seamark_runtime.cel.values import CelError, compare, no_overload


def extreme(values: Iterable[Any], sign: int) -> Any:
    items = list(values)
    if len(items) == 1 and isinstance(items[0], list):
        items = items[0]
    if not items:
        raise CelError(f"{'max' if sign > 0 else 'min'} called on empty list")
    best = items[0]
    for item in items[1:]:
        if compare(item, best, "min/max") * sign > 0:
            best = item
    return best


def total(meter: Meter, items: list[Any]) -> Any:
    if not _list(items):
        return 0
    result = items[0]
    for item in items[1:]:
        result = add(meter, result, item)
    return result


def is_sorted(items: list[Any]) -> bool:
    return all(compare(item, other, "isSorted") <= 0 for item, other in pairwise(_list(items)))


def index_of(meter: Meter, target: Any, item: Any, *rest: Any) -> int:
    if isinstance(target, str):
        return strings.index_of(target, item, *rest)
    return next((index for index, element in enumerate(_list(target)) if equal(meter, element, item)), -1)


def last_index_of(meter: Meter, target: Any, item: Any, *rest: Any) -> int:
    if isinstance(target, str):
        return strings.last_index_of(target, item, *rest)
    indexes = range(len(_list(target)) - 1, -1, -1)
    return next((index for index in indexes if equal(meter, target[index], item)), -1)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise no_overload("list function")
    return value


def contains(target: Any, item: Any) -> bool:
    if isinstance(target, str) and isinstance(item, str):
        return item in target
    raise no_overload("contains")


def distinct(meter: Meter, items: list[Any]) -> list[Any]:
    result: list[Any] = []
    for item in _list(items):
        if not any(equal(meter, item, other) for other in result):
            result.append(item)
    return result


def reverse(target: Any) -> Any:
    if not isinstance(target, str | list):
        raise no_overload("reverse")
    return target[::-1]


def sort(meter: Meter, items: list[Any]) -> list[Any]:
    meter.charge(len(_list(items)) * len(items).bit_length())
    return sorted(items, key=cmp_to_key(lambda item, other: compare(item, other, "sort")))


def flatten(meter: Meter, items: list[Any], depth: int = 1) -> list[Any]:
    """Lists may share their items: what is made can be far larger than what was given."""
    result: list[Any] = []
    for item in _list(items):
        meter.charge(1)
        if isinstance(item, list) and depth > 0:
            result += flatten(meter, item, depth - 1)
        else:
            result.append(item)
    return result


def slice_of(items: list[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(_list(items)):
        raise CelError(f"index out of range: slice({start}, {end}) of {len(items)} items")
    return items[start:end]


def sets_contain(meter: Meter, whole: list[Any], part: list[Any]) -> bool:
    return all(any(equal(meter, item, member) for member in _list(whole)) for item in _list(part))


def sets_equivalent(meter: Meter, items: list[Any], others: list[Any]) -> bool:
    return sets_contain(meter, items, others) and sets_contain(meter, others, items)


def sets_intersect(meter: Meter, items: list[Any], others: list[Any]) -> bool:
    return any(any(equal(meter, item, candidate) for candidate in _list(others)) for item in _list(items))


NAMESPACED: dict[str, Function] = {
    "math.greatest": Function(lambda *values: extreme(values, 1)),
    "math.least": Function(lambda *values: extreme(values, -1)),
    "sets.contains": Function(sets_contain, Cost.PRODUCT, metered=True),
    "sets.equivalent": Function(sets_equivalent, Cost.PRODUCT, metered=True),
    "sets.intersects": Function(sets_intersect, Cost.PRODUCT, metered=True),
}

MEMBERS: dict[str, Function] = {
    "min": Function(lambda items: extreme(_list(items), -1)),
    "max": Function(lambda items: extreme(_list(items), 1)),
    "sum": Function(total, metered=True),
    "isSorted": Function(is_sorted),
    "indexOf": Function(index_of, Cost.PRODUCT, metered=True),
    "lastIndexOf": Function(last_index_of, Cost.PRODUCT, metered=True),
    "contains": Function(contains, Cost.PRODUCT),
    "distinct": Function(distinct, metered=True),
    "reverse": Function(reverse),
    "sort": Function(sort, metered=True),
    "flatten": Function(flatten, Cost.LINEAR, Result.FLAT, metered=True),
    "slice": Function(slice_of),
}
