"""Functions over lists and sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from seamark.cluster.embedded.cel import strings
from seamark.cluster.embedded.cel.operators import add
from seamark.cluster.embedded.cel.values import CelError, compare, equal, no_overload


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


def total(items: list[Any]) -> Any:
    if not items:
        return 0
    result = items[0]
    for item in items[1:]:
        result = add(result, item)
    return result


def is_sorted(items: list[Any]) -> bool:
    return all(compare(one, other, "isSorted") <= 0 for one, other in pairwise(items))


def index_of(target: Any, item: Any, *rest: Any) -> int:
    if isinstance(target, str):
        return strings.index_of(target, item, *rest)
    return next((index for index, one in enumerate(target) if equal(one, item)), -1)


def last_index_of(target: Any, item: Any, *rest: Any) -> int:
    if isinstance(target, str):
        return strings.last_index_of(target, item, *rest)
    return next((index for index in range(len(target) - 1, -1, -1) if equal(target[index], item)), -1)


def contains(target: Any, item: Any) -> bool:
    if isinstance(target, str):
        return item in target
    if hasattr(target, "contains"):
        return bool(target.contains(item))
    raise no_overload("contains")


def distinct(items: list[Any]) -> list[Any]:
    result: list[Any] = []
    for item in items:
        if not any(equal(item, one) for one in result):
            result.append(item)
    return result


def reverse(target: Any) -> Any:
    return target[::-1]


def sort(items: list[Any]) -> list[Any]:
    from functools import cmp_to_key  # noqa: PLC0415 - rare

    return sorted(items, key=cmp_to_key(lambda one, other: compare(one, other, "sort")))


def flatten(items: list[Any], depth: int = 1) -> list[Any]:
    result: list[Any] = []
    for item in items:
        if isinstance(item, list) and depth > 0:
            result += flatten(item, depth - 1)
        else:
            result.append(item)
    return result


def sets_contain(whole: list[Any], part: list[Any]) -> bool:
    return all(any(equal(item, one) for one in whole) for item in part)


def sets_intersect(one: list[Any], other: list[Any]) -> bool:
    return any(any(equal(item, candidate) for candidate in other) for item in one)


MEMBER: dict[str, Callable[..., Any]] = {
    "min": lambda items: extreme(items, -1),
    "max": lambda items: extreme(items, 1),
    "sum": total,
    "isSorted": is_sorted,
    "indexOf": index_of,
    "lastIndexOf": last_index_of,
    "contains": contains,
    "distinct": distinct,
    "reverse": reverse,
    "sort": sort,
    "flatten": flatten,
    "slice": lambda items, start, end: items[start:end],
}
