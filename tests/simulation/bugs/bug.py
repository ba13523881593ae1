"""A seeded bug: functions of the product, replaced by others that have a known kind of defect.

- A bug refers to what it replaces by symbol: the type checker notices when a function is renamed or changes its
  signature, and no bug depends on how a function is written.
- It is planted in a process of its own, or for the time of a test (`planted`). No file is changed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
V = TypeVar("V")

_undo: list[Callable[[], None]] = []  # how to take back what was replaced, in the order in which it was


class NotFoundError(Exception):
    """Nothing in the product refers to what a bug replaces."""


@dataclass(frozen=True)
class Bug:
    """`kind` is its class in the studies of Sieve and Acto; `first` the schedules that are tried before all others.

    A bug that no schedule of requests shows (the time that a pattern takes, what a port of the edge accepts) names the
    regression test that catches it instead.
    """

    name: str
    kind: str
    meaning: str
    plant: Callable[[], None]
    first: tuple[str, ...] = ()
    test: str = ""  # a test of pytest: FILE::FUNCTION


@dataclass
class Bugs:
    """The bugs of one kind, in the order of their declaration."""

    kind: str
    found: list[Bug] = field(default_factory=list)

    def bug(
        self, name: str, meaning: str, *first: str, test: str = ""
    ) -> Callable[[Callable[[], None]], Callable[[], None]]:
        def declare(plant: Callable[[], None]) -> Callable[[], None]:
            self.found.append(Bug(name, self.kind, meaning, plant, first, test))
            return plant

        return declare


def swap(old: Callable[P, R], new: Callable[P, R], *, only: ModuleType | None = None) -> None:
    """Wherever the product (or this module alone) refers to the function or method `old`, it refers to `new`."""
    owner: Any = sys.modules[old.__module__]
    *classes, name = old.__qualname__.split(".")
    for part in classes:
        owner = getattr(owner, part)
    if classes:
        before = owner.__dict__[name]
        _set(owner, name, before, staticmethod(new) if isinstance(before, staticmethod) else new)
        return
    swap_value(old, new, only=only)


def swap_value(old: V, new: V, *, only: ModuleType | None = None) -> None:
    """The same for a function of a module, or a constant."""
    modules = [only] if only is not None else [m for name, m in list(sys.modules.items()) if name.startswith("seamark")]
    references = [(module, name) for module in modules for name, value in vars(module).items() if value is old]
    if not references:
        raise NotFoundError(f"nothing refers to {old!r}")
    for module, name in references:
        _set(module, name, old, new)


def _set(owner: Any, name: str, before: object, after: object) -> None:
    setattr(owner, name, after)
    _undo.append(lambda: setattr(owner, name, before))


@contextmanager
def planted(bug: Bug) -> Iterator[int]:
    """How many references were replaced."""
    assert not _undo, "another bug is planted"
    try:
        bug.plant()
        yield len(_undo)
    finally:
        while _undo:
            _undo.pop()()
