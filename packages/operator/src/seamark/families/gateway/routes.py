"""A route at its parents: which listeners take it, why not, and what of it is served. Pure, but for its reading."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from seamark.families.gateway import httprules, limits, streamrules, traffic
from seamark.families.gateway.backends import Resolver, Trouble
from seamark.families.gateway.gateways import labels_of, selects
from seamark.families.gateway.limits import Unsupported
from seamark.families.gateway.names import common
from seamark.families.gateway.references import invalid
from seamark.families.gateway.shapes import Attached, Attachment, Door, Doors, ListenerId, RouteView
from seamark.families.gateway.state import PARTIALLY_INVALID, ROUTE_ACCEPTED, ROUTE_RESOLVED
from seamark_edge.dataplane.model import Origin
from seamark_runtime.api.gateway import GROUP, Gateway, ListenerSet, ParentReference, Route
from seamark_runtime.api.gatewayroutes import GRPCRoute, HTTPRoute
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.source import Collection
from seamark_runtime.view import View


@dataclass(frozen=True)
class Candidate:
    """A parent reference, with the listeners of the gateway of ours that it leads to."""

    parent: ParentReference
    doors: Doors
    own: tuple[Door, ...]  # those of the very parent that it names


@dataclass(frozen=True)
class SeenRoute:
    """A route with all that its judgement may use."""

    kind: str
    key: Key
    view: RouteView
    labels: Mapping[str, str]
    candidates: tuple[Candidate, ...]
    missing: tuple[str, ...]  # parents that are not there, in words
    invalid: tuple[str, ...] = ()  # what is wrong with the names of parents
    troubles: tuple[Trouble, ...] = ()
    broken: tuple[str, ...] = ()


def observe(view: View, kind: type[Route], key: Key, doors: Collection[Doors]) -> SeenRoute | None:
    route: Any = view.intent(kind, key)
    if route is None or route.deleting:
        return None
    found, missing, wrong = candidates(view, route, doors)
    if not found and not missing and not wrong:
        return None
    if not found:
        empty = RouteView(Origin(kind.RESOURCE.kind, *key), ("", ""), (), (), ())
        return SeenRoute(kind.RESOURCE.kind, key, empty, {}, (), missing, wrong)
    resolver = Resolver(view, kind.RESOURCE.kind, key.namespace, partial(traffic.unusable, view))
    hostnames: tuple[str, ...] = getattr(route.spec, "hostnames", ())
    made = _compiled(route, resolver)
    if words := limits.hostnames_trouble(hostnames):
        made = httprules.Compiled(broken=[words])
    selecting = any(door.who == "Selector" for one in found for door in one.own)
    return SeenRoute(
        kind=kind.RESOURCE.kind,
        key=key,
        view=RouteView(
            origin=Origin(kind.RESOURCE.kind, *key),
            age=(route.metadata.creation_timestamp or "", str(key)),
            hostnames=hostnames,
            rules=tuple(made.rules),
            backends=tuple(resolver.backends.items()),
            labels=tuple(sorted((route.metadata.labels or {}).items())),
        ),
        labels=labels_of(view, key.namespace) if selecting else {},
        candidates=found,
        missing=missing,
        invalid=wrong,
        troubles=tuple(dict.fromkeys(resolver.troubles)),
        broken=tuple(made.broken),
    )


def _compiled(route: Any, resolver: Resolver) -> httprules.Compiled:
    if isinstance(route, HTTPRoute | GRPCRoute):
        return httprules.compiled(route, resolver)
    try:
        return httprules.Compiled(rules=streamrules.compiled(route, resolver))
    except Unsupported as error:
        return httprules.Compiled(broken=[f"rule 0: {error}"])


def candidates(
    view: View, route: Any, doors: Collection[Doors]
) -> tuple[tuple[Candidate, ...], tuple[str, ...], tuple[str, ...]]:
    """The parents that are ours; those that are not there; and what is wrong with names that no parent can have."""
    found, missing, wrong = [], [], []
    for number, parent in enumerate(route.spec.parent_refs):
        kind = parent.kind or "Gateway"
        if (parent.group or GROUP) != GROUP or kind not in ("Gateway", "ListenerSet"):
            continue
        if words := invalid(f"spec.parentRefs[{number}]", parent.name, parent.namespace):
            wrong.append(words)
            continue
        key = Key(parent.namespace or route.metadata.namespace, parent.name)
        told = next(iter(view.reports(doors, (kind, key)).values()), None)
        if told is None:
            there = view.intent(Gateway, key) if kind == "Gateway" else view.intent(ListenerSet, key)
            if there is None:  # otherwise it is another controller's, and no business of ours
                missing.append(f"{kind} {key}")
            continue
        own = tuple(door for door in told.doors if (door.id.kind, door.id.key) == (kind, key))
        found.append(Candidate(parent, told, own))
    return tuple(found), tuple(missing), tuple(wrong)


# ---- judging


def report(seen: SeenRoute) -> Mapping[Hashable, Any]:
    """The entries about the route, and those for each gateway."""
    about = {("missing", seen.kind, seen.key): seen.missing, ("invalid", seen.kind, seen.key): seen.invalid}
    parents: dict[Hashable, Any] = {subject: words for subject, words in about.items() if words}
    if not seen.candidates:
        return parents
    attachments = []
    through: dict[Key, dict[ListenerId, tuple[str, ...]]] = {}
    for candidate in seen.candidates:
        accepted, listeners = accept(seen, candidate)
        attachments.append(
            Attachment(candidate.parent, candidate.doors.gateway, tuple(listeners), conditions(seen, accepted))
        )
        here = through.setdefault(candidate.doors.gateway, {})
        for listener, names in listeners.items():
            here[listener] = tuple(dict.fromkeys((*here.get(listener, ()), *names)))
    reports: dict[Hashable, Any] = {**parents, (seen.kind, seen.key): tuple(attachments)}
    for gateway, listeners in through.items():
        if listeners:
            reports[("gateway", gateway)] = Attached(seen.view, tuple(listeners.items()))
    return reports


def accept(seen: SeenRoute, candidate: Candidate) -> tuple[Condition, dict[ListenerId, tuple[str, ...]]]:
    parent = candidate.parent
    named = [
        door
        for door in candidate.own
        if parent.section_name in (None, door.id.name) and parent.port in (None, door.port)
    ]
    if not named:
        return ROUTE_ACCEPTED.false("NoMatchingParent", "The parent has no listener of that name or port"), {}
    standing = [door for door in named if door.accepted]
    if not standing:
        return ROUTE_ACCEPTED.false("NoMatchingParent", "The listener can't be served; its own status says why"), {}
    allowed = [door for door in standing if allows(seen, door)]
    if not allowed:
        words = "No listener allows routes of this kind from this namespace"
        return ROUTE_ACCEPTED.false("NotAllowedByListeners", words), {}
    matching = {door.id: names for door in allowed if (names := common(door.hostname, seen.view.hostnames))}
    if not matching:
        words = "No listener has a hostname in common with the route"
        return ROUTE_ACCEPTED.false("NoMatchingListenerHostname", words), {}
    if seen.broken and not seen.view.rules:
        return ROUTE_ACCEPTED.false("UnsupportedValue", "; ".join(seen.broken)), {}
    return ROUTE_ACCEPTED.true("Accepted", "Successfully accepted Route"), matching


def allows(seen: SeenRoute, door: Door) -> bool:
    if seen.kind not in door.kinds:
        return False
    if door.who == "Selector":
        return selects(door.selector, seen.labels)
    return door.who == "All" or (door.who == "Same" and seen.key.namespace == door.id.key.namespace)


def conditions(seen: SeenRoute, accepted: Condition) -> tuple[Condition, ...]:
    if seen.troubles:
        first = seen.troubles[0]
        words = "; ".join(dict.fromkeys(one.message for one in seen.troubles))
        resolved = ROUTE_RESOLVED.false(first.reason, words)
    else:
        resolved = ROUTE_RESOLVED.true("ResolvedRefs", "Successfully resolved all references")
    if seen.broken and seen.view.rules:
        return (accepted, resolved, PARTIALLY_INVALID.true("UnsupportedValue", "Dropped: " + "; ".join(seen.broken)))
    return (accepted, resolved)
