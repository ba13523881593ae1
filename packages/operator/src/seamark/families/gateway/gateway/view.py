"""A gateway without its routes: its listeners and those of its sets, its certificates and addresses."""

from __future__ import annotations

from seamark.families.gateway.gateway.certificates import GatewayCertificates
from seamark.families.gateway.gateway.listeners import listener_view
from seamark.families.gateway.gateway.state import GATEWAY_ACCEPTED
from seamark.families.gateway.listenerset.state import SET_ACCEPTED
from seamark.families.gateway.model.addresses import AddressAssignment
from seamark.families.gateway.model.gateways import GatewayView, ListenerView
from seamark.gatewayapi.listeners import allows_set, declared_listeners, named_sets, refusals
from seamark_runtime.api.gateway import Gateway, ListenerSet
from seamark_runtime.api.meta import Condition, Object
from seamark_runtime.view import View


def gateway_view(view: View, gateway: Gateway, assignment: AddressAssignment, foreign_ports: int) -> GatewayView:
    named = named_sets(view, gateway)
    allowed = [listener_set for listener_set in named if allows_set(view, gateway, listener_set)]
    declared = declared_listeners(gateway, allowed)
    refused = refusals(declared, gateway, foreign_ports)
    certificates = GatewayCertificates(view, gateway)
    listeners = tuple(
        listener_view(listener, refused.get(listener.id, ""), certificates.of_listener, foreign_ports)
        for listener in declared
    )
    accepted = acceptance(gateway, listeners)
    certificate, resolved = certificates.of_backends()
    return GatewayView(
        key=gateway.key,
        listeners=listeners,
        accepted=accepted,
        resolved=resolved,
        sets=tuple(
            (listener_set.key, set_acceptance(listener_set, listeners, accepted, allowed=listener_set in allowed))
            for listener_set in named
        ),
        assignment=assignment,
        backend_certificate=certificate,
        insecure=any(
            listener.tls.validation is not None and not listener.tls.validation.required for listener in listeners
        ),
        labels=labels_of(gateway),
        uid=gateway.uid,
        set_labels=tuple((listener_set.key, labels_of(listener_set)) for listener_set in allowed),
    )


def labels_of(obj: Object) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((obj.metadata.labels or {}).items()))


def acceptance(gateway: Gateway, listeners: tuple[ListenerView, ...]) -> Condition:
    infrastructure = gateway.spec.infrastructure
    if infrastructure is not None and infrastructure.parameters_ref is not None:
        ref = infrastructure.parameters_ref
        return GATEWAY_ACCEPTED.false("InvalidParameters", f"Parameters of kind {ref.kind} are not supported")
    for claim in gateway.spec.addresses or ():
        if claim.type != "IPAddress":
            message = f"Addresses of type {claim.type} are not supported; use IPAddress"
            return GATEWAY_ACCEPTED.false("UnsupportedAddress", message)
    own = [listener for listener in listeners if listener.spec.id.kind == "Gateway"]
    refused = [listener.spec.id.name for listener in own if listener.refusal]
    if refused and len(refused) == len(own) and all(listener.refusal for listener in listeners):
        return GATEWAY_ACCEPTED.false("ListenersNotValid", f"No listener can be served: see {', '.join(refused)}")
    if refused:
        return GATEWAY_ACCEPTED.true("ListenersNotValid", f"Some listeners can't be served: {', '.join(refused)}")
    return GATEWAY_ACCEPTED.true("Accepted", "Gateway is accepted")


def set_acceptance(
    listener_set: ListenerSet, listeners: tuple[ListenerView, ...], gateway: Condition, *, allowed: bool
) -> Condition:
    """`gateway` is the acceptance of its gateway."""
    if not allowed:
        return SET_ACCEPTED.false("NotAllowed", "The gateway does not allow listeners from this namespace")
    if gateway.status != "True" and gateway.reason != "ListenersNotValid":
        return SET_ACCEPTED.false("ParentNotAccepted", f"The gateway is not accepted: {gateway.message}")
    own = [listener for listener in listeners if listener.spec.parent == ("ListenerSet", listener_set.key)]
    refused = [listener.spec.id.name for listener in own if listener.refusal]
    if refused and len(refused) == len(own):
        return SET_ACCEPTED.false("ListenersNotValid", f"No listener can be served: see {', '.join(refused)}")
    if refused:
        return SET_ACCEPTED.true("ListenersNotValid", f"Some listeners can't be served: {', '.join(refused)}")
    return SET_ACCEPTED.true("Accepted", "ListenerSet is accepted")
