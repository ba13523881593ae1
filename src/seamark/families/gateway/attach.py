"""Which listeners of a gateway take a route, and why not. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.gateway import Gateway, HTTPRoute, Listener, ParentReference, RouteGroupKind
from seamark.api.meta import Condition, Key
from seamark.families.gateway.state import RESOLVED_REFS, ROUTE_ACCEPTED, Attachment

HTTP_PROTOCOLS = ("HTTP", "HTTPS")


@dataclass(frozen=True)
class Backend:
    """A reference of the route, and whether what it names was found."""

    kind: str
    key: Key
    found: bool


@dataclass(frozen=True)
class Candidate:
    """A parent reference with the gateway of ours that it names, and the labels of the route's namespace."""

    parent: ParentReference
    gateway: Gateway
    namespace_labels: dict[str, str]


def attach(route: HTTPRoute, candidate: Candidate, backends: tuple[Backend, ...]) -> Attachment:
    accepted, listeners = accept(route, candidate)
    return Attachment(candidate.parent, listeners, (accepted, resolve(backends)))


def accept(route: HTTPRoute, candidate: Candidate) -> tuple[Condition, tuple[str, ...]]:
    parent, gateway = candidate.parent, candidate.gateway
    named = [
        listener
        for listener in gateway.spec.listeners
        if parent.section_name in (None, listener.name) and parent.port in (None, listener.port)
    ]
    if not named:
        return ROUTE_ACCEPTED.false("NoMatchingParent", "The gateway has no listener of that name or port"), ()
    allowed = [listener for listener in named if allows(listener, route, candidate)]
    if not allowed:
        words = "No listener allows routes of this kind from this namespace"
        return ROUTE_ACCEPTED.false("NotAllowedByListeners", words), ()
    matching = [listener for listener in allowed if shares_hostname(listener.hostname, route.spec.hostnames)]
    if not matching:
        words = "No listener has a hostname in common with the route"
        return ROUTE_ACCEPTED.false("NoMatchingListenerHostname", words), ()
    return ROUTE_ACCEPTED.true("Accepted", "Successfully accepted Route"), tuple(one.name for one in matching)


def allows(listener: Listener, route: HTTPRoute, candidate: Candidate) -> bool:
    if listener.protocol not in HTTP_PROTOCOLS:
        return False
    allowed = listener.allowed_routes
    if allowed is not None and allowed.kinds is not None and RouteGroupKind(kind="HTTPRoute") not in allowed.kinds:
        return False
    namespaces = allowed.namespaces if allowed is not None else None
    who = namespaces.who if namespaces is not None else "Same"
    if who == "Selector" and namespaces is not None and namespaces.selector is not None:
        wanted = namespaces.selector.match_labels or {}
        return all(candidate.namespace_labels.get(name) == value for name, value in wanted.items())
    return who == "All" or route.metadata.namespace == candidate.gateway.metadata.namespace


def shares_hostname(listener: str, hostnames: tuple[str, ...]) -> bool:
    return not listener or not hostnames or any(matches(listener, hostname) for hostname in hostnames)


def matches(one: str, other: str) -> bool:
    """Whether two hostnames, either with a `*.` in front, have a name in common."""
    if one == other:
        return True
    for wild, plain in ((one, other), (other, one)):
        if wild.startswith("*.") and plain.removeprefix("*").endswith(wild[1:]):
            return True
    return False


def resolve(backends: tuple[Backend, ...]) -> Condition:
    for backend in backends:
        if backend.kind != "Service":
            return RESOLVED_REFS.false("InvalidKind", f"{backend.kind} can't be a backend; use a Service")
    missing = [str(backend.key) for backend in backends if not backend.found]
    if missing:
        return RESOLVED_REFS.false("BackendNotFound", f"Service {', '.join(missing)} does not exist")
    return RESOLVED_REFS.true("ResolvedRefs", "Successfully resolved all references")
