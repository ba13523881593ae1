"""What the operator knows of an object at this moment, and how old that is: the evidence behind its conditions.

- Calls to the outside that were made for the object, with their answers' age and how long they keep; in whose words
  they failed. Of work that is done for many at once only its age is told: its words may be about others.
- Whether this operator leads, what it can't follow, how often it has tried in vain.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seamark.api.meta import Key, Resource
from seamark.core.calls import Failed, Told
from seamark.core.controller import Controller, Group
from seamark.core.operator import Operator
from seamark.core.queue import Item
from seamark.core.redaction import redact
from seamark.core.source import NotYet

STANDS_BY = "this replica does not lead: another one works"


def evidence(operator: Operator, resource: Resource, key: Key) -> list[str]:
    """In words, the most telling first; empty for an object of which this operator has no part."""
    mine = _mine(operator, resource, key)
    found = [*_own(operator, mine, key), *_shared(operator, resource, key)]
    if mine and not found:
        found.append("judged from what the API server shows; nobody else was asked")
    troubles = [
        f"{informer.name} can't be followed: {informer.trouble}"
        for informer in operator.informers.values()
        if resource == informer.kind.RESOURCE and informer.trouble
    ]
    if not found and not troubles:
        return []
    leads = operator.leader is None or operator.leader.leading
    return [*troubles, *found, *([] if leads else [STANDS_BY])]


def _mine(operator: Operator, resource: Resource, key: Key) -> list[Controller[Any]]:
    """Whoever writes this object's status, if it is there."""
    controllers = [one for one in operator.loop.waker.controllers.values() if isinstance(one, Controller)]
    own = [one for one in controllers if resource == one.kind.RESOURCE]
    return [one for one in own if operator.informers[one.kind].cache.get(key) is not None]


def _own(operator: Operator, mine: list[Controller[Any]], key: Key) -> Iterator[str]:
    for controller in mine:
        item = Item(controller.name, key)
        yield from (f"{one.target}: {words(one)}" for one in operator.calls.told(item))
        if failures := operator.queue.failures(item):
            yield f"{controller.name}: tried {failures} times in vain, and again later"


def _shared(operator: Operator, resource: Resource, key: Key) -> Iterator[str]:
    for controller in operator.loop.waker.controllers.values():
        if not isinstance(controller, Group):
            continue
        for kind, keyed in controller.keyed.items():
            obj: Any = operator.informers[kind].cache.get(key) if resource == kind.RESOURCE else None
            for shared in keyed(obj) if obj is not None else ():
                for one in operator.calls.told(Item(controller.name, shared)):
                    yield f"{one.target}: {words(one, own=shared == key)}"


def words(told: Told, *, own: bool = True) -> str:
    if isinstance(told.outcome, NotYet):
        return f"asked {told.since:.0f} s ago, not answered yet"
    if isinstance(told.outcome, Failed):
        said = f": {redact(told.outcome.message)}" if own else ""
        return f"failed {told.age:.0f} s ago{said}"
    if told.keeps == float("inf"):
        return f"answered {told.age:.0f} s ago"
    if told.keeps <= 0:
        return f"answered {told.age:.0f} s ago, which is too old to be relied on"
    return f"answered {told.age:.0f} s ago, good for {told.keeps:.0f} s more"
