"""Whether agents reach what is behind an endpoint: a call of both kinds of endpoint, and the condition from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from seamark.families.loadbalancer.model.options import Intervals
from seamark_edge.model import Upstream
from seamark_runtime.api.meta import Condition
from seamark_runtime.callrates import Rate
from seamark_runtime.calls import Call, Failed
from seamark_runtime.conditions import ConditionType
from seamark_runtime.source import Fresh, NotYet, Stale

UPSTREAM_REACHABLE = ConditionType(
    "UpstreamReachable",
    meaning="An agent behind the endpoint has just opened a connection to the upstream",
    reasons={
        "UpstreamReachable": "An agent that the edge asked has dialled the upstream, which accepted",
        "NoUpstream": "The policy of the endpoint forwards connections to no other endpoint",
        "UpstreamUnreachable": "No agent reaches the upstream; the message has the error of an agent",
        "NoAgent": "No agent is connected that holds the endpoint",
        "NotReported": "The agents do not report whether they reach the upstream, or this edge does not ask them",
        "NoEndpoint": "The edge has no such endpoint",
        "NotVerified": "The edge has not answered since the time in the message",
        "Pending": "Not verified yet, or no response yet",
    },
    shelf_life=15.0,
)

DIALS = Rate("upstreams", 75.0)  # 300 endpoints keep their interval
NOT_CHECKED = "The edge has not had the upstream dialled"


@dataclass(frozen=True)
class Dial:
    """Have the agents behind the endpoints of this object dial the upstream. `ident`: the one that the edge keeps."""

    ANSWER: ClassVar[Any] = Upstream
    uid: str
    place: str = ""
    ident: str = ""


def dial(timing: Intervals, action: Dial) -> Call[Upstream]:
    return Call(
        target=f"upstream/{action.uid}",
        action=action,
        every=timing.dial,
        shelf_life=timing.dial_shelf_life,
        timeout=timing.dial_timeout,
        slowest=timing.dial,
        rate=DIALS,
    )


Answer = NotYet | Fresh[Upstream] | Stale[Upstream] | Failed


def upstream_as(created: Condition, answer: Answer | None) -> Condition:  # noqa: PLR0911  one row per answer
    """`created` is about the endpoint at the edge. `answer` is None where this edge checks no upstreams."""
    if created.status == "False":
        return UPSTREAM_REACHABLE.unknown("NoEndpoint", "The edge has no endpoint to reach the upstream through")
    if created.status != "True":
        return _unknown(created)
    match answer:
        case None:
            return UPSTREAM_REACHABLE.unknown("NotReported", "This edge does not report whether agents reach upstreams")
        case Fresh(value=found):
            return _reported(found)
        case Stale():
            return UPSTREAM_REACHABLE.unverified(NOT_CHECKED, at_once=True)
        case Failed(message=message):
            return UPSTREAM_REACHABLE.unverified(NOT_CHECKED, message, at_once=True)
        case NotYet():
            return UPSTREAM_REACHABLE.not_yet("Pending", "No agent has dialled the upstream yet")


def no_upstream(created: Condition) -> Condition:
    """Of an endpoint that the edge keeps, and that forwards nothing."""
    if created.status != "True":
        return upstream_as(created, None)
    return UPSTREAM_REACHABLE.true("NoUpstream", "The endpoint forwards connections to no other endpoint")


def _unknown(created: Condition) -> Condition:
    if created.reason == UPSTREAM_REACHABLE.lasting:
        return UPSTREAM_REACHABLE.unverified(NOT_CHECKED, at_once=True)
    return UPSTREAM_REACHABLE.not_yet("Pending", "No agent has dialled the upstream yet")


def _reported(found: Upstream) -> Condition:
    if not found.agents:
        cause = f": {found.detail}" if found.detail else ""
        return UPSTREAM_REACHABLE.false("NoAgent", f"No agent that holds the endpoint is connected{cause}")
    if found.reachable is None:
        return UPSTREAM_REACHABLE.unknown("NotReported", "The agents do not report whether they reach the upstream")
    if found.reachable:
        return UPSTREAM_REACHABLE.true("UpstreamReachable", "The upstream accepts connections of agents")
    return UPSTREAM_REACHABLE.false("UpstreamUnreachable", f"Agents do not reach the upstream: {found.detail}")
