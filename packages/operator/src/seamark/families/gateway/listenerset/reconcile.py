"""ListenerSet → its status, from the view of its gateway. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.families.gateway.listeners.state import GatewayFacts
from seamark.families.gateway.listeners.status import listener_status, programmed_condition
from seamark.families.gateway.listenerset.state import SET_PROGRAMMED, Seen
from seamark_runtime.api.gateway import ListenerSetStatus
from seamark_runtime.api.meta import Condition
from seamark_runtime.apply import Answers
from seamark_runtime.events import Notice


def judge(seen: Seen, _answers: Answers) -> ListenerSetStatus:
    facts, key = seen.facts, seen.listener_set.key
    accepted = dict(facts.view.sets).get(key) if facts is not None else None
    if facts is None or accepted is None:
        return ListenerSetStatus()
    own = [listener for listener in facts.view.listeners if listener.spec.parent == ("ListenerSet", key)]
    return ListenerSetStatus(
        conditions=(accepted, programmed(accepted, facts)),
        listeners=tuple(listener_status(listener, facts) for listener in own),
    )


def programmed(accepted: Condition, facts: GatewayFacts) -> Condition:
    if accepted.status != "True":
        reason = accepted.reason if accepted.reason in ("NotAllowed", "ListenersNotValid") else "Invalid"
        return SET_PROGRAMMED.false(reason, accepted.message)
    if facts.view.assignment.problem is not None:
        return SET_PROGRAMMED.false("Invalid", "The gateway is not served; its own conditions say why")
    return programmed_condition(SET_PROGRAMMED, facts.programmed, "ListenerSet is programmed")


def announce(seen: Seen, _answers: Answers) -> Iterable[Notice]:
    if seen.facts is None:
        name = seen.listener_set.spec.parent_ref.name
        yield Notice("ParentNotFound", seen.problem or f"Gateway {name} is not served by this controller any more")
