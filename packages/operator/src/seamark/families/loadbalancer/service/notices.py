"""Events on a Service: each problem once, when it begins."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.families.loadbalancer.model.names import MADE_FROM, digest
from seamark.families.loadbalancer.service.calls import placed
from seamark.families.loadbalancer.service.children import endpoints, live
from seamark.families.loadbalancer.service.exposure import Exposure
from seamark.families.loadbalancer.service.reconcile import judge
from seamark.families.loadbalancer.service.state import ACCEPTED, ASSIGNED, Seen
from seamark_runtime.api.meta import Condition, to_wire
from seamark_runtime.apply import Answers
from seamark_runtime.difference import difference
from seamark_runtime.events import Notice


def announce(seen: Seen, answers: Answers) -> list[Notice]:
    if seen.exposure is None:
        return []
    written = (seen.service.status.conditions if seen.service.status else None) or ()
    before = {condition.type: condition for condition in written}
    problems = [
        Notice(condition.reason, condition.message)
        for condition in judge(seen, answers).conditions or ()
        if condition.status == "False" and has_event(condition) and not same(condition, before.get(condition.type))
    ]
    return [*problems, *restored(seen, answers)]


def has_event(condition: Condition) -> bool:
    """Of two conditions with one cause, one has an event."""
    return condition.type == ACCEPTED.name or (condition.type, condition.reason) == (ASSIGNED.name, "EdgeFailed")


def same(condition: Condition, before: Condition | None) -> bool:
    return before is not None and (condition.status, condition.reason, condition.message) == (
        before.status,
        before.reason,
        before.message,
    )


def restored(seen: Seen, answers: Answers) -> Iterable[Notice]:
    """An endpoint that is not as we made it, though we want the same as then: it was edited."""
    if not isinstance(seen.exposure, Exposure) or seen.holder is not None:
        return
    there = live(seen)
    for role, child in endpoints(seen, seen.exposure, placed(seen, seen.exposure)).items():
        before = there.get(child.metadata.name)
        if before is None or answers.child(role) is None:
            continue
        meant = before.annotation(MADE_FROM) == digest(to_wire(getattr(child, "spec", None)))
        if meant and "spec" in difference(child, before):
            kind = child.RESOURCE.kind
            yield Notice("EndpointRestored", f"{kind} {child.metadata.name} was edited by hand, and was put back")
