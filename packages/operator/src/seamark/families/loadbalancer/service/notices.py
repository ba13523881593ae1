"""Events on a Service: each problem once, when it begins."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.families.loadbalancer.names import MADE_FROM, digest
from seamark.families.loadbalancer.service.children import endpoints, live
from seamark.families.loadbalancer.service.reconcile import placed
from seamark.families.loadbalancer.service.state import ACCEPTED, ASSIGNED, Seen
from seamark.families.loadbalancer.service.status import judge
from seamark.families.loadbalancer.service.wish import Wish
from seamark_runtime.api.meta import Condition, to_wire
from seamark_runtime.apply import Answers
from seamark_runtime.difference import difference
from seamark_runtime.events import Notice


def announce(seen: Seen, answers: Answers) -> list[Notice]:
    if seen.wish is None:
        return []
    said = {one.type: one for one in (seen.service.status.conditions if seen.service.status else None) or ()}
    judged = {one.type: one for one in judge(seen, answers).conditions or ()}
    heard = [
        Notice(one.reason, one.message)
        for one in judged.values()
        if one.status == "False" and worth_telling(one) and not same(one, said.get(one.type))
    ]
    return [*heard, *restored(seen, answers)]


def worth_telling(condition: Condition) -> bool:
    """Of two conditions with one cause, one event is enough."""
    return condition.type == ACCEPTED.name or (condition.type, condition.reason) == (ASSIGNED.name, "EdgeFailed")


def same(one: Condition, before: Condition | None) -> bool:
    return before is not None and (one.status, one.reason, one.message) == (
        before.status,
        before.reason,
        before.message,
    )


def restored(seen: Seen, answers: Answers) -> Iterable[Notice]:
    """An endpoint that is not as we made it, though we want the same as then: it was edited."""
    if not isinstance(seen.wish, Wish) or seen.rival is not None:
        return
    there = live(seen)
    for role, child in endpoints(seen, seen.wish, placed(seen, seen.wish)).items():
        before = there.get(child.metadata.name)
        if before is None or answers.child(role) is None:
            continue
        meant = before.annotation(MADE_FROM) == digest(to_wire(getattr(child, "spec", None)))
        if meant and "spec" in difference(child, before):
            kind = child.RESOURCE.kind
            yield Notice("EndpointRestored", f"{kind} {child.metadata.name} was edited by hand, and was put back")
