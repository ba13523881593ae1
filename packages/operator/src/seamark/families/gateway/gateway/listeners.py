"""The listeners of a gateway, one by one: whether each can be served, and why not. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from seamark.families.gateway.gateway.certificates import ListenerCertificates
from seamark.families.gateway.listeners.state import LISTENER_ACCEPTED, LISTENER_CONFLICTED, LISTENER_RESOLVED
from seamark.families.gateway.model.gateways import ListenerView
from seamark.families.gateway.values.limits import invalid_hostname
from seamark.families.gateway.values.tlsoptions import options_problem, tls_versions
from seamark.gatewayapi.listeners import BEYOND_SHARE, ROUTE_KINDS, DeclaredListener, listener_spec, route_kinds
from seamark_runtime.api.gateway import Listener, RouteGroupKind
from seamark_runtime.api.meta import Condition

CONFLICTS = {
    "ProtocolConflict": "Another listener of port {port} speaks a protocol that can't share it",
    "HostnameConflict": "Another listener of port {port} has the same hostname",
}
BEYOND = (
    "Port {port} is one too many: the ListenerSets of a namespace may add {share} ports to a Gateway of another one "
    "(the setting gateway_foreign_ports of the installation)"
)


def listener_view(
    declared: DeclaredListener,
    conflict: str,
    certificates_of: Callable[[DeclaredListener], ListenerCertificates],
    share: int = 0,
) -> ListenerView:
    """`conflict`: the reason why listeners that precede it exclude it; its certificates are not read then. `share`:
    how many ports a namespace may add to a gateway of another one."""
    listener = declared.listener
    supported, unsupported = route_kinds(listener)
    known = listener.protocol in ROUTE_KINDS
    certificates = certificates_of(declared) if known and not conflict else ListenerCertificates()
    accepted = acceptance(listener, conflict, certificates, share)
    refusal = "" if accepted.status == "True" else accepted.reason
    if certificates.reason and not certificates.tls.certificates and not refusal:
        refusal = "Invalid"
    if unsupported and not supported and not refusal:
        refusal = "Invalid"
    attachable = accepted.status == "True" or accepted.reason == "NoValidCACertificate"
    return ListenerView(
        spec=listener_spec(declared, accepted=attachable),
        tls=replace(certificates.tls, versions=tls_versions(options_of(listener))),
        supported=tuple(RouteGroupKind(kind=kind) for kind in supported),
        conditions=(accepted, conflicted(conflict), resolution(unsupported, certificates)),
        refusal=refusal,
    )


def acceptance(listener: Listener, conflict: str, certificates: ListenerCertificates, share: int) -> Condition:
    if listener.protocol not in ROUTE_KINDS:
        return LISTENER_ACCEPTED.false("UnsupportedProtocol", f"The protocol {listener.protocol} is not served")
    if listener.hostname and (invalid := invalid_hostname((listener.hostname,))):
        return LISTENER_ACCEPTED.false("UnsupportedValue", invalid)
    if conflict:
        message = BEYOND if conflict == BEYOND_SHARE else CONFLICTS[conflict]
        return LISTENER_ACCEPTED.false(conflict, message.format(port=listener.port, share=share))
    if certificates.accepted_reason:
        return LISTENER_ACCEPTED.false(certificates.accepted_reason, certificates.message)
    if unsupported := unsupported_tls(listener):
        return LISTENER_ACCEPTED.false("UnsupportedValue", unsupported)
    return LISTENER_ACCEPTED.true("Accepted", "Listener is accepted")


def unsupported_tls(listener: Listener) -> str:
    if listener.tls is not None and listener.tls.mode == "Passthrough" and listener.protocol == "HTTPS":
        return "An HTTPS listener can't pass TLS through; use protocol TLS"
    return options_problem(options_of(listener))


def options_of(listener: Listener) -> Mapping[str, str] | None:
    return listener.tls.options if listener.tls is not None else None


def conflicted(conflict: str) -> Condition:
    if conflict in CONFLICTS:
        message = CONFLICTS[conflict].replace(" of port {port}", " of the same port")
        return LISTENER_CONFLICTED.true(conflict, message)
    return LISTENER_CONFLICTED.false("NoConflicts", "No conflict with other listeners")


def resolution(unsupported: tuple[str, ...], certificates: ListenerCertificates) -> Condition:
    if unsupported:
        message = f"Routes of kind {', '.join(unsupported)} can't be served by this listener"
        return LISTENER_RESOLVED.false("InvalidRouteKinds", message)
    if certificates.reason:
        return LISTENER_RESOLVED.false(certificates.reason, certificates.message)
    return LISTENER_RESOLVED.true("ResolvedRefs", "All references of the listener are resolved")
