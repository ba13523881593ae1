"""Whether the functions of a controller are pure: run twice on the same facts, they return the same and change nothing.

`checked` wraps a controller: every `observe`, `desire`, `judge`, `report` and `announce` is run twice, its results are
compared, and so is all state that can be reached from these functions and their arguments, before and after. What they
read of a view, and when they are requeued, is compared too. A memory is advanced twice: the second time changes
nothing. What differs is appended to `found`. Metrics and the runtime's own sources of Kubernetes objects do not count:
the runtime changes them.
"""

from __future__ import annotations

import asyncio
import functools
import types
import typing
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache, cached_property
from logging import Logger
from typing import Any

import msgspec
from prometheus_client.metrics import MetricWrapperBase

from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Declaration
from seamark_runtime.follow import Follower
from seamark_runtime.memory import Acknowledging, Memory
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
FAKES = ("tests.simulation", "tests.cluster", "seamark_cluster.embedded")
CODE = (types.FunctionType, types.BuiltinFunctionType)
LISTENERS = ("_listeners", "on_failure")  # of a source: they lead to the runtime, and through it to everything
FUNCTIONS = ("observe", "desire", "judge", "announce")


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
        elif is_outside(value):
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


def is_outside(value: Any) -> bool:
    """Whether it is not state of a controller: the runtime's own, a metric, or a fake of what is remote."""
    return isinstance(value, OUTSIDE) or type(value).__module__.startswith(FAKES)


def parts(value: Any) -> Iterator[Any]:
    match value:
        case types.MethodType():
            yield from (value.__func__, value.__self__)
        case types.FunctionType():
            yield value.__qualname__
            for cell in value.__closure__ or ():
                yield cell.cell_contents
            yield from (value.__defaults__, value.__kwdefaults__)
            yield from instances(value)
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


def instances(function: types.FunctionType) -> Iterator[Any]:
    """The globals that its code names, but for other code."""
    for name in named(function.__code__):
        value = function.__globals__.get(name)
        if not isinstance(value, (*PLAIN, *CODE)) and type(value).__module__ != typing.__name__:
            yield from (name, value)


@cache
def named(code: types.CodeType) -> tuple[str, ...]:
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return tuple(dict.fromkeys((*code.co_names, *(name for part in inner for name in named(part)))))


def attributes(value: Any) -> Iterator[Any]:
    """Without what follows from the others (`cached_property`)."""
    names: dict[str, None] = dict.fromkeys(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = getattr(kind, "__slots__", ())
        names.update(dict.fromkeys((slots,) if isinstance(slots, str) else slots))
    for name in (name for name in names if not isinstance(getattr(type(value), name, None), cached_property)):
        if name not in ("__dict__", "__weakref__", *LISTENERS):
            yield name
            yield getattr(value, name, None)


def same(first: Any, second: Any) -> bool:
    """Equal by content, also where a class defines no equality."""
    return bool(first == second) or state(first) == state(second)


def checked(
    declared: Declaration,
    found: list[str],
    due: Callable[[], bool] = lambda: True,
    tried: Callable[[str, str], None] = lambda _controller, _function: None,
) -> Declaration:
    """The controller with functions that are tried twice each, whenever a check is `due`; each calls `tried`."""
    twice = _Twice(declared, found, due, tried)
    wrapped: dict[str, Any] = {
        name: twice.function(name, getattr(declared, name))
        for name in FUNCTIONS
        if getattr(declared, name, None) is not None
    }
    if isinstance(declared, CollectionController):
        wrapped["outputs"] = tuple(
            replace(output, report=twice.function(f"report on {output.collection.name}", output.report))
            for output in declared.outputs
        )
    if declared.memory is not None:
        wrapped["memory"] = twice.memory(declared.memory)
    return replace(declared, **wrapped)


class _Twice:
    def __init__(
        self, declared: Declaration, found: list[str], due: Callable[[], bool], tried: Callable[[str, str], None]
    ) -> None:
        self._name = declared.name
        self._found = found
        self._due = due
        self._tried = tried
        self._roots = [getattr(declared, name) for name in FUNCTIONS if getattr(declared, name, None) is not None]
        if isinstance(declared, CollectionController):
            self._roots += [output.report for output in declared.outputs]
        self._roots.append(declared.memory)

    def function(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def twice(*arguments: Any) -> Any:
            if not self._due():
                return function(*arguments)
            self._tried(self._name, name)
            roots = [*self._roots, *(argument for argument in arguments if not isinstance(argument, View))]
            before, copies = state(*roots), [_copy(argument) for argument in arguments]
            first = function(*copies)
            if state(*roots) != before:
                self._found.append(f"{self._name}: {name} changes state")
            second = function(*arguments)
            if not same(first, second):
                self._found.append(f"{self._name}: {name} returns something else the second time")
            if recorded(copies) != recorded(arguments):
                self._found.append(f"{self._name}: {name} reads something else the second time")
            return second

        return twice

    def memory(self, memory: Memory) -> Memory:
        """Its transition, and an acknowledgement, change nothing when they are called again on the same facts."""
        return _TwiceAdvanced(memory, self._again)

    def _again(self, transition: Callable[..., None], *arguments: Any) -> None:
        if not self._due():
            transition(*arguments)
            return
        name = "advance" if isinstance(arguments[0], View) else "acknowledgement"
        self._tried(self._name, name)
        transition(*map(_copy, arguments))
        before = state(*self._roots)
        transition(*arguments)
        if state(*self._roots) != before:
            self._found.append(f"{self._name}: a second {name} changes the memory")


@dataclass(frozen=True)
class _TwiceAdvanced:
    memory: Memory
    again: Callable[..., None]

    def advance(self, view: View, subject: Any, results: Results) -> None:
        self.again(self.memory.advance, view, subject, results)

    def forget(self, key: Key) -> None:
        self.memory.forget(key)

    def acknowledge(self, seen: Any, answers: Answers) -> None:
        if isinstance(self.memory, Acknowledging):
            self.again(self.memory.acknowledge, seen, answers)


def recorded(arguments: Iterable[Any]) -> list[tuple[set[Any], float]]:
    """What was read of the views among these, and when they are requeued."""
    return [(set(view.reads), view.requeue_at) for view in arguments if isinstance(view, View)]


def _copy(argument: Any) -> Any:
    """A view records what is read of it: each run gets its own, with what was read before."""
    if not isinstance(argument, View):
        return argument
    copy = View(argument._informers, argument.now, argument._followers, argument._reviews, argument._date)
    copy.requeue_at, copy.reads = argument.requeue_at, dict(argument.reads)
    return copy
