"""A route at its parents: what is read of it, of what it refers to, and of the listeners that it names."""

from __future__ import annotations

from functools import partial
from typing import Any

from seamark.families.gateway.model.routes import RouteView
from seamark.families.gateway.route.state import Candidate, SeenAttachment
from seamark.families.gateway.rules import httprules, streamrules
from seamark.families.gateway.rules.backends import Resolver
from seamark.families.gateway.rules.trafficpolicies import unusable_policy
from seamark.families.gateway.values.limits import Unsupported, invalid_hostname
from seamark.gatewayapi.attachment import AttachingRoute
from seamark.gatewayapi.listeners import GatewayListeners, ParentKey
from seamark.gatewayapi.namespaces import namespace_labels
from seamark.gatewayapi.parents import parent_key
from seamark.gatewayapi.references import invalid_reference
from seamark_edge.dataplane.model import Origin
from seamark_runtime.api.gateway import Gateway, ListenerSet, Route
from seamark_runtime.api.gatewayroutes import GRPCRoute, HTTPRoute
from seamark_runtime.api.meta import Key
from seamark_runtime.source import Collection
from seamark_runtime.view import View

Listeners = Collection[ParentKey, GatewayListeners]


def observe_attachment(view: View, kind: type[Route], key: Key, listeners: Listeners) -> SeenAttachment | None:
    route = view.intent(kind, key)
    if route is None or route.deleting:
        return None
    found, missing, invalid = candidates(view, route, listeners)
    if not found and not missing and not invalid:
        return None
    name = kind.RESOURCE.kind
    if not found:
        empty = RouteView(Origin(name, *key), ("", ""), (), (), ())
        return SeenAttachment(key, empty, AttachingRoute(name, key), missing=missing, invalid=invalid)
    resolver = Resolver(view, name, key.namespace, partial(unusable_policy, view))
    hostnames: tuple[str, ...] = getattr(route.spec, "hostnames", ())
    compiled = _compiled(route, resolver)
    if problem := invalid_hostname(hostnames):
        compiled = httprules.Compiled(broken=[problem])
    selecting = any(listener.allowed_from == "Selector" for candidate in found for listener in candidate.own)
    labels = namespace_labels(view, key.namespace) if selecting else {}
    return SeenAttachment(
        key=key,
        view=RouteView(
            origin=Origin(name, *key),
            age=(route.metadata.creation_timestamp or "", str(key)),
            hostnames=hostnames,
            rules=tuple(compiled.rules),
            backends=tuple(resolver.backends.items()),
            labels=tuple(sorted((route.metadata.labels or {}).items())),
        ),
        attaching=AttachingRoute(name, key, hostnames, labels),
        candidates=found,
        missing=missing,
        invalid=invalid,
        unresolved=tuple(dict.fromkeys(resolver.unresolved)),
        broken=tuple(compiled.broken),
    )


def _compiled(route: Any, resolver: Resolver) -> httprules.Compiled:
    if isinstance(route, HTTPRoute | GRPCRoute):
        return httprules.compiled(route, resolver)
    try:
        return httprules.Compiled(rules=streamrules.compiled(route, resolver))
    except Unsupported as error:
        return httprules.Compiled(broken=[f"rule 0: {error}"])


def candidates(
    view: View, route: Route, listeners: Listeners
) -> tuple[tuple[Candidate, ...], tuple[str, ...], tuple[str, ...]]:
    """The parents that are ours; those that do not exist; and what is wrong with names that no parent can have."""
    found, missing, invalid = [], [], []
    for number, parent in enumerate(route.spec.parent_refs):
        named = parent_key(parent, route.metadata.namespace)
        if named is None:
            continue
        if problem := invalid_reference(f"spec.parentRefs[{number}]", parent.name, parent.namespace):
            invalid.append(problem)
            continue
        gateway = view.entry(listeners, named)
        if gateway is not None:
            own = tuple(listener for listener in gateway.listeners if listener.parent == named)
            found.append(Candidate(parent, gateway, own))
            continue
        existing = view.intent(Gateway if named.kind == "Gateway" else ListenerSet, named.key)
        if existing is None:  # otherwise it is another controller's, and no concern of ours
            missing.append(f"{named.kind} {named.key}")
    return tuple(found), tuple(missing), tuple(invalid)
