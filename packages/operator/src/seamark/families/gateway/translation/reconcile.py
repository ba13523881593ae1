"""A gateway's translation → its call to the data plane, and the entries about gateway, routes and policies. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from seamark.families.gateway.listeners.status import REFUSED
from seamark.families.gateway.model.gateways import GatewayView
from seamark.families.gateway.model.results import ProgrammedResult, ProgrammedState, RefusedObjects
from seamark.families.gateway.policies.state import POLICY_ACCEPTED
from seamark.families.gateway.translation.pieces import POLICY, SECRET, TLS_POLICY, cause_of, key_of, pieces_of
from seamark.families.gateway.translation.state import (
    PolicyConditions,
    Programmed,
    Seen,
    Translation,
    TranslationInput,
    TranslationState,
)
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
        case Fresh(Programmed(instances=served, error="")):
            return translation.input.gateway if served else None
        case Fresh() | Failed():
            return None
        case _:
            return last


def programmed(
    state: TranslationState, translation: Translation, response: Response, refused: RefusedObjects
) -> tuple[ProgrammedResult, Mapping[Origin, str]]:
    """What the response means for the gateway, and the objects without which it is served."""
    if state.presence is not None and state.presence.connected == 0:
        return ProgrammedResult(ProgrammedState.ABSENT, "The data plane is not connected"), {}
    match response:
        case Fresh(value=found):
            return answered(found), dict(found.refused)
        case Failed(message):
            return ProgrammedResult(ProgrammedState.ABSENT, f"The data plane did not answer: {message}"), {}
        case _:
            known = still_refused(translation.input, refused)
            if state.confirmed == translation.input.gateway:
                return served(known), known
            return ProgrammedResult(ProgrammedState.PENDING), known


def answered(found: Programmed) -> ProgrammedResult:
    if found.error:
        return ProgrammedResult(ProgrammedState.REFUSED, found.error)
    return served(dict(found.refused)) if found.instances else ProgrammedResult(ProgrammedState.NOWHERE)


def served(refused: Mapping[Origin, str]) -> ProgrammedResult:
    certificates = tuple((f"{o.namespace}/{o.name}", error) for o, error in refused.items() if o.kind == SECRET)
    return ProgrammedResult(ProgrammedState.SERVED, certificates=certificates)


def still_refused(given: TranslationInput, refused: RefusedObjects) -> dict[Origin, str]:
    if not refused.objects:
        return {}
    pieces = pieces_of(given)
    return refused.unchanged(lambda origin: cause_of(given, pieces, origin))


def with_refusals(conditions: PolicyConditions, refused: Mapping[Origin, str]) -> PolicyConditions:
    """The conditions of policies that the data plane has refused have its error."""
    tls, traffic = dict(conditions.tls), dict(conditions.traffic)
    for origin, error in refused.items():
        key, invalid = key_of(origin), POLICY_ACCEPTED.false("Invalid", REFUSED.format(error=error))
        if origin.kind == POLICY and key in traffic:
            traffic[key] = (invalid,)
        elif origin.kind == TLS_POLICY and key in tls:
            tls[key] = (invalid, *tls[key][1:])
    return PolicyConditions(tls, traffic)


# ---- entries


def report_programmed(seen: Seen, _answers: Answers) -> Mapping[Key, ProgrammedResult]:
    return {seen.key: seen.result} if seen.result is not None else {}


def report_refusals(seen: Seen, _answers: Answers) -> Mapping[Origin, str]:
    refused = {origin: REFUSED.format(error=error) for origin, error in seen.refused.items()}
    return {**refused, **seen.beyond}


def report_tls(seen: Seen, _answers: Answers) -> Mapping[Key, tuple[Condition, ...]]:
    return seen.conditions.tls


def report_traffic(seen: Seen, _answers: Answers) -> Mapping[Key, tuple[Condition, ...]]:
    return seen.conditions.traffic
