"""How much a program remembers: the entries of every container that can be reached from an object, by where it is."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from seamark.families.bindings.poll.ports import Ports
from seamark.providers.dns.layered import Layered
from seamark.providers.edge.memory import MemoryCalls
from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_runtime.journal import Journal

BOUNDED = (Journal, Layered, Ports)  # they forget by themselves, past a limit or after a while
BESIDE = (type, Store, EmbeddedTransport, MemoryCalls)  # the world, and no memory of ours
OURS = ("seamark", "tests")


def remembered(*roots: Any) -> Counter[str]:
    found: Counter[str] = Counter()
    seen: set[int] = set()
    left = [("", root) for root in roots]
    while left:
        place, one = left.pop()
        if id(one) in seen or isinstance(one, BOUNDED + BESIDE):
            continue
        seen.add(id(one))
        if isinstance(one, dict | list | tuple | set | frozenset | deque):
            found[place] += len(one)
        left += _inside(place, one)
    return found


def _inside(place: str, one: Any) -> Iterator[tuple[str, Any]]:
    match one:
        case dict():
            yield from ((f"{place}[]", inner) for pair in one.items() for inner in pair)
        case list() | tuple() | set() | frozenset() | deque():
            yield from ((f"{place}[]", inner) for inner in one)
        case MethodType():
            yield place, one.__self__
        case FunctionType():
            yield from ((f"{place}()", cell.cell_contents) for cell in one.__closure__ or () if _filled(cell))
        case partial():
            yield from ((place, inner) for inner in (one.func, *one.args, *one.keywords.values()))
        case _ if type(one).__module__.startswith(OURS):
            for name in _attributes(one):
                if hasattr(one, name):
                    yield f"{type(one).__name__}.{name}", getattr(one, name)


def _attributes(one: Any) -> set[str]:
    slots = [kind.__dict__.get("__slots__", ()) for kind in type(one).__mro__]
    named = {name for slot in slots for name in ((slot,) if isinstance(slot, str) else slot)}
    return named | set(getattr(one, "__dict__", ()))


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  # it raises where there is nothing
    except ValueError:
        return False
    return True
