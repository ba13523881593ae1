"""The status of a listener, in that of its gateway or of its listener set. Pure."""

from __future__ import annotations

from seamark.families.gateway.listeners.state import LISTENER_PROGRAMMED, GatewayFacts
from seamark.families.gateway.model.gateways import ListenerView
from seamark.families.gateway.model.results import ProgrammedResult, ProgrammedState
from seamark_runtime.api.gateway import ListenerStatus
from seamark_runtime.api.meta import Condition
from seamark_runtime.conditions import ConditionType

NO_RESPONSE = "The data plane has not answered yet"
NO_DATA_PLANE = "The data plane is in memory: nothing listens"
REFUSED = "The data plane refused it: {error}"
REFUSED_CERTIFICATE = "The data plane refused the certificate in the Secret {name}: {error}"
CONFLICTS = ("HostnameConflict", "ProtocolConflict")


def listener_status(listener: ListenerView, facts: GatewayFacts) -> ListenerStatus:
    return ListenerStatus(
        name=listener.spec.id.name,
        supported_kinds=listener.supported,
        attached_routes=facts.counts.get(listener.spec.id, 0),
        conditions=(*listener.conditions, listener_programmed(listener, facts)),
    )


def listener_programmed(listener: ListenerView, facts: GatewayFacts) -> Condition:
    if listener.refusal:
        reason = listener.refusal if listener.refusal in CONFLICTS else "Invalid"
        return LISTENER_PROGRAMMED.false(reason, "The listener can't be served; its other conditions say why")
    if facts.view.accepted.status != "True" or facts.view.assignment.problem is not None:
        return LISTENER_PROGRAMMED.false("Invalid", "The gateway is not served; its own conditions say why")
    assigned = facts.view.assignment
    if not assigned.addresses or assigned.unreached:
        return LISTENER_PROGRAMMED.not_yet("Pending", "The gateway has no address yet that traffic reaches")
    for name, error in facts.programmed.certificates if facts.programmed is not None else ():
        if any(certificate.name == name for certificate in listener.tls.certificates):
            return LISTENER_PROGRAMMED.false("Invalid", REFUSED_CERTIFICATE.format(name=name, error=error))
    message = f"Listener is programmed{assigned.elsewhere(listener.spec.port)}"
    return programmed_condition(LISTENER_PROGRAMMED, facts.programmed, message)


def programmed_condition(type_: ConditionType, result: ProgrammedResult | None, message: str) -> Condition:
    """From the response of the data plane; `message` is that of the condition when it is True."""
    match result:
        case ProgrammedResult(ProgrammedState.SERVED):
            return type_.true("Programmed", message)
        case ProgrammedResult(ProgrammedState.NOWHERE):
            return type_.unknown("NoDataPlane", NO_DATA_PLANE)
        case ProgrammedResult(ProgrammedState.REFUSED, error):
            return type_.false("Invalid", REFUSED.format(error=error))
        case ProgrammedResult(ProgrammedState.ABSENT, error):
            return type_.false("Pending", error)
        case _:
            return type_.not_yet("Pending", NO_RESPONSE)
