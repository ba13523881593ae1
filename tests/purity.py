"""Whether the functions of a controller are pure: run twice on the same facts, they return the same and change nothing.

`checked` wraps a controller: every `observe`, `desire`, `judge`, `report` and `announce` is run twice, its results are
compared, and so is all state that can be reached from these functions, before and after. What differs is appended to
`found`. Metrics and the runtime's own sources of Kubernetes objects do not count: the runtime changes them.
"""

from __future__ import annotations

import asyncio
import functools
import types
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace
from enum import Enum
from logging import Logger
from typing import Any

import msgspec
from prometheus_client.metrics import MetricWrapperBase

from seamark_runtime.controller import Declaration
from seamark_runtime.follow import Follower
from seamark_runtime.source import Informer
from seamark_runtime.view import View

PLAIN = (str, bytes, int, float, bool, type(None), type, types.ModuleType, Enum)
OUTSIDE = (
    MetricWrapperBase,
    Informer,
    Follower,
    Logger,
    asyncio.AbstractEventLoop,
    asyncio.Task,
    asyncio.Lock,
    asyncio.Event,
)
FUNCTIONS = ("observe", "desire", "judge", "report", "announce")


def state(*roots: Any) -> tuple[Any, ...]:
    """Everything that can be reached from these, as one comparable value."""
    known: dict[int, int] = {}
    found: list[Any] = []
    todo = deque(roots)
    kept = []  # ids stay unique while the objects live
    while todo:
        value = todo.popleft()
        if isinstance(value, PLAIN):
            found.append(value)
        elif isinstance(value, OUTSIDE):
            found.append(type(value).__name__)
        elif id(value) in known:
            found.append(("seen", known[id(value)]))
        else:
            known[id(value)] = len(known)
            kept.append(value)
            inside = list(parts(value))
            found.append((type(value).__qualname__, len(inside)))
            todo.extend(inside)
    return tuple(found)


def parts(value: Any) -> Iterator[Any]:
    match value:
        case types.MethodType():
            yield value.__func__.__qualname__
            yield value.__self__
        case types.FunctionType():
            yield value.__qualname__
            for cell in value.__closure__ or ():
                yield cell.cell_contents
        case functools.partial():
            yield from (value.func, *value.args, *value.keywords.values())
        case Mapping():
            for key, content in value.items():
                yield from (key, content)
        case Set():
            yield from sorted(value, key=repr)
        case list() | tuple() | deque():
            yield from value
        case msgspec.Struct():
            yield from (getattr(value, name) for name in value.__struct_fields__)
        case _:
            yield from attributes(value)


def attributes(value: Any) -> Iterator[Any]:
    names: dict[str, None] = dict.fromkeys(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = getattr(kind, "__slots__", ())
        names.update(dict.fromkeys((slots,) if isinstance(slots, str) else slots))
    for name in names:
        if name not in ("__dict__", "__weakref__"):
            yield name
            yield getattr(value, name, None)


def same(first: Any, second: Any) -> bool:
    """Equal by content, also where a class defines no equality."""
    return bool(first == second) or state(first) == state(second)


def checked(declared: Declaration, found: list[str]) -> Declaration:
    """The controller with functions that are tried twice each."""
    wrapped: dict[str, Any] = {
        name: _twice(declared, name, getattr(declared, name), found)
        for name in FUNCTIONS
        if getattr(declared, name, None) is not None
    }
    return replace(declared, **wrapped)


def _twice(declared: Declaration, name: str, function: Callable[..., Any], found: list[str]) -> Callable[..., Any]:
    roots = [getattr(declared, other) for other in FUNCTIONS if getattr(declared, other, None) is not None]

    def tried(*arguments: Any) -> Any:
        before = state(*roots)
        first = function(*map(_copy, arguments))
        if state(*roots) != before:
            found.append(f"{declared.name}: {name} changes state")
        second = function(*arguments)
        if not same(first, second):
            found.append(f"{declared.name}: {name} returns something else the second time")
        return second

    return tried


def _copy(argument: Any) -> Any:
    """A view records what is read of it: each run gets its own."""
    if not isinstance(argument, View):
        return argument
    copy = View(argument._informers, argument.now, argument._followers, argument._reviews)
    copy.requeue_at = argument.requeue_at
    return copy
