"""A gateway's listeners, its own and those of its listener sets: which can be served, and why not. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from seamark.families.gateway.limits import hostnames_trouble
from seamark.families.gateway.shapes import NO_LOCK, Door, ListenerId, ListenerView, Lock
from seamark.families.gateway.state import LISTENER_ACCEPTED, LISTENER_CONFLICTED, LISTENER_RESOLVED
from seamark_runtime.api.gateway import GROUP, Gateway, Listener, ListenerSet, RouteGroupKind, RouteNamespaces
from seamark_runtime.api.meta import Condition, Key

HTTP_KINDS = ("HTTPRoute", "GRPCRoute")
KINDS = {"HTTP": HTTP_KINDS, "HTTPS": HTTP_KINDS, "TLS": ("TLSRoute",), "TCP": ("TCPRoute",)}
WITH_NAMES = ("HTTP", "HTTPS", "TLS")
LAYERS = {"HTTP": "HTTP", "HTTPS": "TLS", "TLS": "TLS", "TCP": "TCP"}  # protocols that can share a port


@dataclass(frozen=True, slots=True)
class Claim:
    """A listener with the object that declares it."""

    id: ListenerId
    listener: Listener


@dataclass(frozen=True, slots=True)
class Keys:
    """What became of a listener's references to certificates: the lock, or why there is none."""

    lock: Lock = NO_LOCK
    reason: str = ""
    message: str = ""
    accepted_reason: str = ""  # where the trouble also makes the listener unacceptable


def claims(gateway: Gateway, sets: Iterable[ListenerSet]) -> list[Claim]:
    """All listeners in the order in which they go before one another: the gateway's, then the oldest set's."""
    found = [Claim(ListenerId("Gateway", gateway.key, one.name), one) for one in gateway.spec.listeners]
    for each in sorted(sets, key=lambda one: (one.metadata.creation_timestamp or "", one.key)):
        found += [Claim(ListenerId("ListenerSet", each.key, one.name), one) for one in each.spec.listeners]
    return found


def conflicts(claimed: Iterable[Claim]) -> dict[ListenerId, str]:
    """The listeners that are in the way of one that goes before them, with the reason."""
    taken: dict[int, tuple[str, set[str]]] = {}
    found: dict[ListenerId, str] = {}
    for claim in claimed:
        one = claim.listener
        layer = LAYERS.get(one.protocol)
        if layer is None:
            continue
        name = one.hostname if one.protocol in WITH_NAMES else ""
        known = taken.setdefault(one.port, (layer, set()))
        if known[0] != layer:
            found[claim.id] = "ProtocolConflict"
        elif name in known[1]:
            found[claim.id] = "HostnameConflict"
        else:
            known[1].add(name)
    return found


def examine(claim: Claim, conflict: str, keys: Callable[[Claim], Keys]) -> ListenerView:
    one = claim.listener
    supported, unknown = route_kinds(one)
    known = one.protocol in KINDS
    found = keys(claim) if known and not conflict else Keys()
    accepted = acceptance(one, conflict, found, known=known)
    resolved = resolution(unknown, found)
    refusal = "" if accepted.status == "True" else accepted.reason
    if found.reason and not found.lock.certificates and not refusal:
        refusal = "Invalid"
    if unknown and not supported and not refusal:
        refusal = "Invalid"
    namespaces = one.allowed_routes.namespaces if one.allowed_routes is not None else None
    door = Door(
        id=claim.id,
        port=one.port,
        protocol=one.protocol,
        hostname=one.hostname if one.protocol in WITH_NAMES else "",
        kinds=supported,
        who=allowed_from(namespaces),
        selector=namespaces.selector if namespaces is not None else None,
        passthrough=one.protocol == "TLS" and one.tls is not None and one.tls.mode == "Passthrough",
        accepted=accepted.status == "True" or accepted.reason == "NoValidCACertificate",
    )
    kinds = tuple(RouteGroupKind(kind=kind) for kind in supported)
    return ListenerView(door, found.lock, kinds, (accepted, conflicted(conflict), resolved), refusal)


def allowed_from(namespaces: RouteNamespaces | None) -> str:
    return (namespaces.who if namespaces is not None else None) or "Same"


def route_kinds(one: Listener) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The kinds of routes that it takes, and those that it names but can't take."""
    possible = KINDS.get(one.protocol, ())
    asked = one.allowed_routes.kinds if one.allowed_routes is not None else None
    if not asked:
        return possible, ()
    good = [kind.kind for kind in asked if kind.group == GROUP and kind.kind in possible]
    bad = [kind.kind for kind in asked if not (kind.group == GROUP and kind.kind in possible)]
    return tuple(dict.fromkeys(good)), tuple(bad)


def acceptance(one: Listener, conflict: str, keys: Keys, *, known: bool) -> Condition:
    if not known:
        return LISTENER_ACCEPTED.false("UnsupportedProtocol", f"The protocol {one.protocol} is not served")
    if one.hostname and (words := hostnames_trouble((one.hostname,))):
        return LISTENER_ACCEPTED.false("UnsupportedValue", words)
    if conflict:
        return LISTENER_ACCEPTED.false(conflict, CONFLICTS[conflict].format(port=one.port))
    if keys.accepted_reason:
        return LISTENER_ACCEPTED.false(keys.accepted_reason, keys.message)
    if one.tls is not None and one.tls.mode == "Passthrough" and one.protocol == "HTTPS":
        return LISTENER_ACCEPTED.false("UnsupportedValue", "An HTTPS listener can't pass TLS through; use protocol TLS")
    return LISTENER_ACCEPTED.true("Accepted", "Listener is accepted")


CONFLICTS = {
    "ProtocolConflict": "Another listener of port {port} speaks a protocol that can't share it",
    "HostnameConflict": "Another listener of port {port} has the same hostname",
}


def conflicted(conflict: str) -> Condition:
    if conflict:
        words = CONFLICTS[conflict].replace(" of port {port}", " of the same port")
        return LISTENER_CONFLICTED.true(conflict, words)
    return LISTENER_CONFLICTED.false("NoConflicts", "No conflict with other listeners")


def resolution(unknown: tuple[str, ...], keys: Keys) -> Condition:
    if unknown:
        words = f"Routes of kind {', '.join(unknown)} can't be served by this listener"
        return LISTENER_RESOLVED.false("InvalidRouteKinds", words)
    if keys.reason:
        return LISTENER_RESOLVED.false(keys.reason, keys.message)
    return LISTENER_RESOLVED.true("ResolvedRefs", "All references of the listener are resolved")


def gateway_key(listener_set: ListenerSet) -> Key | None:
    """The gateway that a listener set names."""
    parent = listener_set.spec.parent_ref
    if (parent.group or GROUP) != GROUP or (parent.kind or "Gateway") != "Gateway":
        return None
    return Key(parent.namespace or listener_set.metadata.namespace, parent.name)
