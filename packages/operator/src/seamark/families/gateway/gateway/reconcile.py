"""A Gateway → the entries for its routes, and its status. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping

from seamark.families.gateway.gateway.state import GATEWAY_PROGRAMMED, INSECURE, Seen
from seamark.families.gateway.listeners.state import GatewayFacts
from seamark.families.gateway.listeners.status import listener_status, programmed_condition
from seamark.families.gateway.model.gateways import GatewayView
from seamark.families.gateway.model.results import ProgrammedState
from seamark.gatewayapi.listeners import GatewayListeners, ParentKey
from seamark_runtime.api.gateway import GatewayAddress, GatewayStatus
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.apply import Answers

# ---- entries


def report_view(view: GatewayView, _answers: Answers) -> Mapping[Key, GatewayView]:
    return {view.key: view}


def report_listeners(view: GatewayView, _answers: Answers) -> Mapping[ParentKey, GatewayListeners]:
    """What routes have to know of a gateway and of each listener set that names it."""
    all_listeners = GatewayListeners(view.key, tuple(listener.spec for listener in view.listeners))
    entries = {ParentKey("Gateway", view.key): all_listeners}
    for key, accepted in view.sets:
        attachable = accepted.status == "True" or accepted.reason == "ListenersNotValid"
        entries[ParentKey("ListenerSet", key)] = all_listeners if attachable else GatewayListeners(view.key, ())
    return entries


# ---- the status


def judge(seen: Seen, _answers: Answers) -> GatewayStatus:
    facts = seen.facts
    if facts is None:
        return GatewayStatus()
    view = facts.view
    conditions = [view.accepted, programmed(facts)]
    if view.resolved is not None:
        conditions.append(view.resolved)
    if view.insecure:
        conditions.append(INSECURE.true("ConfigurationChanged", "Clients without a valid certificate are let in"))
    own = [listener for listener in view.listeners if listener.spec.id.kind == "Gateway"]
    return GatewayStatus(
        conditions=tuple(conditions),
        addresses=tuple(map(address, view.assignment.addresses)) or None,
        listeners=tuple(listener_status(listener, facts) for listener in own),
        attached_listener_sets=sum(accepted.status == "True" for _, accepted in view.sets),
    )


def address(value: str) -> GatewayAddress:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return GatewayAddress(type="Hostname", value=value)
    return GatewayAddress(value=value)


def programmed(facts: GatewayFacts) -> Condition:
    view, result = facts.view, facts.programmed
    assigned = view.assignment
    if view.accepted.status != "True":
        return GATEWAY_PROGRAMMED.false("Invalid", f"The gateway is not accepted: {view.accepted.message}")
    if assigned.problem is not None:
        return GATEWAY_PROGRAMMED.false(*assigned.problem)
    if not assigned.addresses:
        return GATEWAY_PROGRAMMED.not_yet("Pending", assigned.unreached or "No address was assigned yet")
    if assigned.unreached:
        return GATEWAY_PROGRAMMED.false("AddressNotUsable", assigned.unreached)
    if assigned.not_started and (result is None or result.state is not ProgrammedState.SERVED):
        return GATEWAY_PROGRAMMED.false("Pending", assigned.not_started)
    elsewhere = assigned.elsewhere(*(listener.spec.port for listener in view.listeners))
    return programmed_condition(GATEWAY_PROGRAMMED, result, f"Gateway is programmed{elsewhere}")
