"""The parents of a route, for those who follow routes without serving them: DNS records, published URLs. Pure.

- Whether a parent takes a route is read in the route's status, where the parent's controller reports it: for the
  route's present generation, and only of parents that the route still names.
- Under which host names it is served follows from the parent's listeners, by the rules of `attachment`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from seamark.gatewayapi.attachment import AttachingRoute, NotAttached, attach
from seamark.gatewayapi.listeners import (
    DeclaredListener,
    ListenerId,
    ListenerSpec,
    ParentKey,
    gateway_key,
    listener_spec,
)
from seamark_runtime.api.gateway import GROUP, Gateway, ListenerSet, ListenerStatus
from seamark_runtime.api.gatewayroutes import Route, RouteParentStatus
from seamark_runtime.api.gatewayshared import ParentReference
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.conditions import FALSE, TRUE

PARENT_KINDS = ("Gateway", "ListenerSet")


def parent_key(reference: ParentReference, namespace: str) -> ParentKey | None:
    """What a route of this namespace names as its parent; None for a kind that routes do not attach to here."""
    kind = reference.kind or "Gateway"
    if (reference.group or GROUP) != GROUP or kind not in PARENT_KINDS:
        return None
    return ParentKey(kind, Key(reference.namespace or namespace, reference.name))


def gateway_of(parent: Gateway | ListenerSet) -> Key | None:
    """The gateway that serves a parent: itself, or the one that a listener set names."""
    return parent.key if isinstance(parent, Gateway) else gateway_key(parent)


# ---- what the status of a route says


def accepting(route: Route) -> list[RouteParentStatus]:
    """The entries of the parents that have accepted the route as it is now."""
    return [entry for entry in _named_entries(route) if is_true(_accepted(entry), route.metadata.generation)]


def awaited(route: Route) -> bool:
    """Whether a parent that had accepted the route has no answer yet for its present generation."""
    answered, before = set(), set()
    for entry in _named_entries(route):
        condition, parent = _accepted(entry), _identity(entry.parent_ref, route)
        if condition is not None and is_current(condition, route.metadata.generation):
            answered.add(parent)
        elif condition is not None and condition.status == TRUE:
            before.add(parent)
    return bool(before - answered)


def is_true(condition: Condition | None, generation: int) -> bool:
    return condition is not None and condition.status == TRUE and is_current(condition, generation)


def is_current(condition: Condition, generation: int) -> bool:
    """Whether it is about this generation; a controller that names none is taken to mean the present one."""
    return condition.observed_generation in (None, generation)


def condition_of(conditions: Iterable[Condition], name: str) -> Condition | None:
    return next((condition for condition in conditions if condition.type == name), None)


def _accepted(entry: RouteParentStatus) -> Condition | None:
    return condition_of(entry.conditions, "Accepted")


def _named_entries(route: Route) -> Iterator[RouteParentStatus]:
    named = {_identity(reference, route) for reference in getattr(route.spec, "parent_refs", None) or ()}
    for entry in (route.status.parents if route.status is not None else None) or ():
        if _identity(entry.parent_ref, route) in named:
            yield entry


def _identity(reference: ParentReference, route: Route) -> tuple[ParentKey | None, str | None, int | None]:
    """Equal for two references to the same, however much of the defaults they write out."""
    return parent_key(reference, route.metadata.namespace), reference.section_name, reference.port


# ---- what the status of a parent says


def programmed(gateway: Gateway) -> bool:
    conditions = gateway.status.conditions if gateway.status is not None else ()
    return is_true(condition_of(conditions, "Programmed"), gateway.metadata.generation)


def listeners_without(parent: Gateway | ListenerSet, *conditions: str) -> tuple[ListenerSpec, ...]:
    """The listeners that a parent declares, without those that its status reports one of these conditions False of."""
    reported = (parent.status.listeners if parent.status is not None else None) or ()
    failing = {status.name for status in reported if _has_false(status, conditions)}
    kind = "Gateway" if isinstance(parent, Gateway) else "ListenerSet"
    return tuple(
        listener_spec(DeclaredListener(ListenerId(kind, parent.key, listener.name), listener), accepted=True)
        for listener in parent.spec.listeners
        if listener.name not in failing
    )


def _has_false(status: ListenerStatus, conditions: Iterable[str]) -> bool:
    found = (condition_of(status.conditions, name) for name in conditions)
    return any(condition is not None and condition.status == FALSE for condition in found)


def served_hostnames(
    route: AttachingRoute, reference: ParentReference, listeners: Iterable[ListenerSpec]
) -> tuple[str, ...]:
    """The host names under which a parent that has accepted a route serves it; "" for all.

    That parent's controller may know more protocols than this module: what it has accepted is not refused here, host
    names alone narrow it.
    """
    found = attach(route, reference, listeners)
    if found is NotAttached.NO_COMMON_HOSTNAME:
        return ()
    if isinstance(found, NotAttached):
        return route.hostnames
    return tuple(dict.fromkeys(name for names in found.values() for name in names))
