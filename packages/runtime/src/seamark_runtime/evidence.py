"""What the operator knows of an object at this moment, and how old that is: the evidence behind its conditions.

- Remote calls made for the object, with the age of their results and how long these are valid, or their errors. Of
  work done for many objects only the age is shown, and only of recurring calls: an error may be about others, and the
  target of a single change (of a record) names its object.
- Whether this operator leads, what it can't watch, how many attempts have failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seamark_runtime.api.meta import Key, Resource
from seamark_runtime.calls import CallRecord, Failed
from seamark_runtime.conditions import LONGEST_MESSAGE
from seamark_runtime.controller import CollectionController, Controller
from seamark_runtime.operator import Operator
from seamark_runtime.redaction import redact
from seamark_runtime.request import Request
from seamark_runtime.source import NotYet

STANDS_BY = "this replica does not lead: another one works"
PROMPT = 1.0  # seconds within which an answer is not late


def evidence(operator: Operator, resource: Resource, key: Key) -> list[str]:
    """As lines of text, the most useful first; empty for an object of which this operator has no part."""
    mine = _mine(operator, resource, key)
    found = [*_own(operator, mine, key), *_shared(operator, resource, key)]
    if mine and not found:
        found.append("source: API server")
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
    """The controllers that write this object's status, if it exists."""
    controllers = [c for c in operator.loop.router.controllers.values() if isinstance(c, Controller)]
    own = [controller for controller in controllers if resource == controller.kind.RESOURCE]
    return [controller for controller in own if operator.informers[controller.kind].cache.get(key) is not None]


def _own(operator: Operator, mine: list[Controller[Any]], key: Key) -> Iterator[str]:
    for controller in mine:
        request = Request(controller.name, key)
        yield from (f"{record.target}: {describe(record)}" for record in operator.calls.records(request))
        if failures := operator.queue.failures(request):
            yield f"{controller.name}: {failures} attempts failed; it is retried"


def _shared(operator: Operator, resource: Resource, key: Key) -> Iterator[str]:
    for controller in operator.loop.router.controllers.values():
        if not isinstance(controller, CollectionController):
            continue
        for kind, keyed in controller.keyed.items():
            obj: Any = operator.informers[kind].cache.get(key) if resource == kind.RESOURCE else None
            for shared in keyed(obj) if obj is not None else ():
                own = shared == key
                for record in operator.calls.records(Request(controller.name, shared)):
                    if own or record.recurring:
                        yield f"{record.target}: {describe(record, own=own)}"


def describe(record: CallRecord, *, own: bool = True) -> str:
    if isinstance(record.outcome, NotYet):
        return f"asked {record.since:.0f} s ago, not answered yet"
    if isinstance(record.outcome, Failed):
        error = f": {redact(record.outcome.message, LONGEST_MESSAGE)}" if own else ""
        return f"failed {record.age:.0f} s ago{error}"
    if record.pending is not None and record.pending >= PROMPT:
        return f"answered {record.age:.0f} s ago; asked again {record.pending:.0f} s ago, not answered since"
    if record.keeps == float("inf"):
        return f"answered {record.age:.0f} s ago"
    if record.keeps <= 0:
        return f"answered {record.age:.0f} s ago, which is too old to be relied on"
    return f"answered {record.age:.0f} s ago, good for {record.keeps:.0f} s more"
