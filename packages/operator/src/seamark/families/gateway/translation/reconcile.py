"""A gateway's translation → its call to the data plane, and the entries about gateway, routes and policies. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from seamark.families.gateway.model.gateways import GatewayView
from seamark.families.gateway.model.results import ProgrammedResult, ProgrammedState, RefusedRoutes
from seamark.families.gateway.translation.state import Programmed, Seen, Translation, TranslationState
from seamark_edge.dataplane.model import Origin
from seamark_edge.dataplane.protocol import Presence
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Failed
from seamark_runtime.controller import Wanted
from seamark_runtime.source import Fresh, NotYet, Stale

Response = NotYet | Fresh[Programmed] | Stale[Programmed] | Failed


def desire(seen: Seen) -> Wanted:
    return Wanted(calls=(seen.call,))


def confirmed(
    last: GatewayView | None, translation: Translation, presence: Presence | None, response: Response
) -> GatewayView | None:
    """The gateway as the data plane has confirmed it last; None: a new confirmation is needed."""
    if presence is not None and presence.connected == 0:
        return None
    match response:
        case Fresh(Programmed(error="")):
            return translation.input.gateway
        case Fresh() | Failed():
            return None
        case _:
            return last


def programmed(
    state: TranslationState, translation: Translation, response: Response, refused: RefusedRoutes
) -> tuple[ProgrammedResult, Mapping[Origin, str]]:
    """What the response means for the gateway, and the routes without which it is served."""
    if state.presence is not None and state.presence.connected == 0:
        return ProgrammedResult(ProgrammedState.ABSENT, "The data plane is not connected"), {}
    match response:
        case Fresh(Programmed(refused=routes, error="")):
            return ProgrammedResult(ProgrammedState.SERVED), dict(routes)
        case Fresh(Programmed(error=error)):
            return ProgrammedResult(ProgrammedState.REFUSED, error), {}
        case Failed(message):
            return ProgrammedResult(ProgrammedState.ABSENT, f"The data plane did not answer: {message}"), {}
        case _:
            same = state.confirmed == translation.input.gateway
            found = ProgrammedState.SERVED if same else ProgrammedState.PENDING
            return ProgrammedResult(found), refused.unchanged(translation.input.attached)


# ---- entries


def report_programmed(seen: Seen, _answers: Answers) -> Mapping[Key, ProgrammedResult]:
    return {seen.key: seen.result} if seen.result is not None else {}


def report_refusals(seen: Seen, _answers: Answers) -> Mapping[Origin, str]:
    return seen.refused


def report_tls(seen: Seen, _answers: Answers) -> Mapping[Key, tuple[Condition, ...]]:
    return seen.conditions.tls


def report_traffic(seen: Seen, _answers: Answers) -> Mapping[Key, tuple[Condition, ...]]:
    return seen.conditions.traffic
