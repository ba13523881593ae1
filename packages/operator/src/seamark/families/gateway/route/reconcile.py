"""A route → the entries about its attachment, and its status. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seamark.families.gateway.model.dependencies import Counts
from seamark.families.gateway.model.routes import AttachedRoute, Backend, RouteParent, RouteParents
from seamark.families.gateway.route.state import (
    BACKENDS_READY,
    MOST_PARENTS,
    PARTIALLY_INVALID,
    ROUTE_ACCEPTED,
    ROUTE_RESOLVED,
    Attachments,
    Candidate,
    Seen,
    SeenAttachment,
    SeenCounts,
)
from seamark.gatewayapi.attachment import Attached, NotAttached, attach
from seamark.gatewayapi.listeners import ListenerId
from seamark_runtime.api.gateway import ParentReference, Route, RouteParentStatus, RouteStatus
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.apply import Answers
from seamark_runtime.conditions import FALSE, TRUE, UNKNOWN
from seamark_runtime.events import Notice

REASONS = {
    NotAttached.NO_SUCH_LISTENER: ("NoMatchingParent", "The parent has no listener of that name or port"),
    NotAttached.NOT_ACCEPTED: ("NoMatchingParent", "The listener can't be served; its own status says why"),
    NotAttached.NOT_ALLOWED: ("NotAllowedByListeners", "No listener allows routes of this kind from this namespace"),
    NotAttached.NO_COMMON_HOSTNAME: (
        "NoMatchingListenerHostname",
        "No listener has a hostname in common with the route",
    ),
}

# ---- entries


def attachments(seen: SeenAttachment) -> Attachments:
    """Its parents, and through which listeners it comes to each gateway."""
    parents = []
    through: dict[Key, dict[ListenerId, tuple[str, ...]]] = {}
    for candidate in seen.candidates:
        accepted, listeners = accept(seen, candidate)
        gateway = candidate.gateway.gateway
        parents.append(RouteParent(candidate.parent, gateway, tuple(listeners), conditions(seen, accepted)))
        at_gateway = through.setdefault(gateway, {})
        for listener, names in listeners.items():
            at_gateway[listener] = tuple(dict.fromkeys((*at_gateway.get(listener, ()), *names)))
    return Attachments(
        key=seen.key,
        parents=RouteParents(tuple(parents), seen.missing, seen.invalid, backends_of(seen)),
        attached={
            gateway: AttachedRoute(seen.view, tuple(listeners.items()))
            for gateway, listeners in through.items()
            if listeners
        },
    )


def backends_of(seen: SeenAttachment) -> tuple[Backend, ...]:
    return tuple(dict.fromkeys(backend for _, backend in seen.view.backends))


def accept(seen: SeenAttachment, candidate: Candidate) -> tuple[Condition, Attached]:
    found = attach(seen.attaching, candidate.parent, candidate.own)
    if isinstance(found, NotAttached):
        return ROUTE_ACCEPTED.false(*REASONS[found]), {}
    if seen.broken and not seen.view.rules:
        return ROUTE_ACCEPTED.false("UnsupportedValue", "; ".join(seen.broken)), {}
    return ROUTE_ACCEPTED.true("Accepted", "Successfully accepted Route"), found


def conditions(seen: SeenAttachment, accepted: Condition) -> tuple[Condition, ...]:
    if seen.unresolved:
        message = "; ".join(dict.fromkeys(reference.message for reference in seen.unresolved))
        resolved = ROUTE_RESOLVED.false(seen.unresolved[0].reason, message)
    else:
        resolved = ROUTE_RESOLVED.true("ResolvedRefs", "Successfully resolved all references")
    if seen.broken and seen.view.rules:
        return (accepted, resolved, PARTIALLY_INVALID.true("UnsupportedValue", "Dropped: " + "; ".join(seen.broken)))
    return (accepted, resolved)


def report_parents(seen: Attachments, _answers: Answers) -> Mapping[Key, RouteParents]:
    return {seen.key: seen.parents}


def report_attached(seen: Attachments, _answers: Answers) -> Mapping[Key, AttachedRoute]:
    return seen.attached


def report_used(seen: Attachments, _answers: Answers) -> Mapping[Key, frozenset[Backend]]:
    """By Service, of a route that is attached to any gateway."""
    found: dict[Key, set[Backend]] = {}
    for backend in seen.parents.backends if seen.attached else ():
        found.setdefault(backend.service, set()).add(backend)
    return {service: frozenset(backends) for service, backends in found.items()}


def counted(attached: Iterable[AttachedRoute]) -> Counts:
    """How many routes each listener has."""
    counts: dict[ListenerId, int] = {}
    for route in attached:
        for listener, _ in route.through:
            counts[listener] = counts.get(listener, 0) + 1
    return counts


def report_counts(seen: SeenCounts, _answers: Answers) -> Mapping[Key, Counts]:
    return {seen.key: seen.counts}


# ---- the status


def judge(seen: Seen, _answers: Answers) -> RouteStatus:
    """One entry for each parent of ours, in the order in which the route names them."""
    entries: dict[ParentReference, RouteParentStatus] = {}
    for parent in seen.parents.ours:
        entry = RouteParentStatus(
            parent_ref=parent.parent,
            controller_name=seen.controller_name,
            conditions=with_backends(with_refusal(parent, seen), seen),
        )
        entries.setdefault(parent.parent, entry)
    return RouteStatus(parents=tuple(entries.values())[: seen.room])


def with_backends(conditions: tuple[Condition, ...], seen: Seen) -> tuple[Condition, ...]:
    """Of a route that this parent has taken, also whether its backends accept connections."""
    by_type = {condition.type: condition for condition in conditions}
    if by_type[ROUTE_ACCEPTED.name].status != TRUE:
        return conditions
    resolved = by_type[ROUTE_RESOLVED.name]
    if resolved.status != TRUE and resolved.reason != "InvalidExtensionRef":
        message = "A reference of the route can't be used; its condition ResolvedRefs has the cause"
        return (*conditions, BACKENDS_READY.false("BackendNotResolved", message))
    return (*conditions, backends_ready(seen))


def backends_ready(seen: Seen) -> Condition:
    """The worst of its backends: False before Unknown before not known yet."""
    backends = seen.parents.backends
    if not backends:
        return BACKENDS_READY.true("NoBackends", "No rule of the route needs a backend")
    known = [seen.health[backend] for backend in backends if backend in seen.health]
    for status in (FALSE, UNKNOWN):
        for health in known:
            if health.status == status:
                condition = BACKENDS_READY.false if status == FALSE else BACKENDS_READY.unknown
                return condition(health.reason, health.message)
    if len(known) < len(backends):
        return BACKENDS_READY.not_yet("Pending", "The endpoints of a backend are being probed")
    left_out = next((health.message for health in known if health.message), "")
    message = "Every backend has a ready endpoint that accepts connections"
    return BACKENDS_READY.true("BackendsReady", f"{message}. {left_out}" if left_out else message)


def with_refusal(parent: RouteParent, seen: Seen) -> tuple[Condition, ...]:
    """With the response of the data plane; before the first response after a restart, with the previous condition."""
    error, previous = seen.refusals.get(parent.gateway), seen.previous.get(parent.parent)
    if error is not None:
        refused = ROUTE_ACCEPTED.false("UnsupportedValue", error)
    elif previous is not None:
        refused = ROUTE_ACCEPTED.false(previous.reason, previous.message)
    else:
        return parent.conditions
    return tuple(refused if condition.type == refused.type else condition for condition in parent.conditions)


def previous_refusals(route: Route, controller_name: str, ours: Iterable[RouteParent]) -> dict[RouteParent, Condition]:
    """Where a parent would accept the route now, and our entry of this generation in the status is False.

    Which of its values can be served depends on its spec alone: if they can, the data plane had refused it.
    """
    published = {
        entry.parent_ref: condition
        for entry in (route.status.parents if route.status is not None else None) or ()
        if entry.controller_name == controller_name
        for condition in entry.conditions
        if (condition.type, condition.status) == (ROUTE_ACCEPTED.name, FALSE)
        and condition.reason == "UnsupportedValue"
        and condition.observed_generation == route.metadata.generation
    }
    if not published:
        return {}
    return {
        parent: published[parent.parent]
        for parent in ours
        if parent.parent in published
        and any(each.type == ROUTE_ACCEPTED.name and each.status == TRUE for each in parent.conditions)
    }


def announce(seen: Seen, _answers: Answers) -> Iterable[Notice]:
    """Only of routes that concern us: those with a parent of ours, now or until just now."""
    for problem in seen.parents.invalid:
        yield Notice("ParentNotFound", problem)
    for name in seen.parents.missing if seen.concerns_us else ():
        yield Notice("ParentNotFound", f"{name} does not exist or is not served by this controller")
    hidden = len(seen.parents.ours) - seen.room
    if hidden > 0:
        message = f"The status holds {MOST_PARENTS} parents, {seen.foreign} of them other controllers'"
        yield Notice("StatusFull", f"{message}; {hidden} of this route's are not shown")
