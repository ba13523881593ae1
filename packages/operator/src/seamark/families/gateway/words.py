"""What each kind says in its status, of all that was found out. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from seamark.families.gateway.shapes import Attachment, GatewayView, ListenerId, ListenerView, Verdict
from seamark.families.gateway.state import (
    GATEWAY_PROGRAMMED,
    INSECURE,
    LISTENER_PROGRAMMED,
    MOST_ANCESTORS,
    MOST_PARENTS,
    ROUTE_ACCEPTED,
    SET_PROGRAMMED,
)
from seamark_runtime.api.gateway import GatewayAddress as Address
from seamark_runtime.api.gateway import GatewayStatus, ListenerSetStatus, ListenerStatus, RouteParentStatus, RouteStatus
from seamark_runtime.api.gatewayshared import GROUP, AncestorStatus, ParentReference, PolicyStatus
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.events import Notice

WAITING = "The data plane has not answered yet"
REFUSED = "The data plane refused it: "
Counts = Mapping[ListenerId, int]


@dataclass(frozen=True)
class SeenGateway:
    """A gateway, or a listener set, with the entries about it."""

    object: Any
    view: GatewayView | None = None
    verdict: Verdict | None = None
    counts: Counts = field(default_factory=dict)
    trouble: str = ""  # of a listener set: why it has no gateway


# ---- gateways


def judge_gateway(seen: SeenGateway) -> GatewayStatus:
    view = seen.view
    if view is None:
        return GatewayStatus()
    own = [one for one in view.listeners if one.door.id.kind == "Gateway"]
    conditions = [view.accepted, programmed(view, seen.verdict)]
    if view.resolved is not None:
        conditions.append(view.resolved)
    if view.insecure:
        conditions.append(INSECURE.true("ConfigurationChanged", "Clients without a valid certificate are let in"))
    return GatewayStatus(
        conditions=tuple(conditions),
        addresses=tuple(map(address, view.addresses)) or None,
        listeners=tuple(listener_status(one, seen) for one in own),
        attached_listener_sets=attached_sets(view),
    )


def address(value: str) -> Address:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return Address(type="Hostname", value=value)
    return Address(value=value)


def attached_sets(view: GatewayView) -> int:
    return sum(accepted.status == "True" for _, accepted in view.sets)


def programmed(view: GatewayView, verdict: Verdict | None) -> Condition:
    if view.accepted.status != "True":
        return GATEWAY_PROGRAMMED.false("Invalid", f"The gateway is not accepted: {view.accepted.message}")
    if view.address_trouble is not None:
        return GATEWAY_PROGRAMMED.false(*view.address_trouble)
    if not view.addresses:
        return GATEWAY_PROGRAMMED.not_yet("Pending", view.unreached or "No address was assigned yet")
    if view.unreached:
        return GATEWAY_PROGRAMMED.false("AddressNotUsable", view.unreached)
    if view.not_started and (verdict is None or verdict.state != "served"):
        return GATEWAY_PROGRAMMED.false("Pending", view.not_started)
    return answered(GATEWAY_PROGRAMMED, verdict, "Gateway is programmed")


def answered(type_: Any, verdict: Verdict | None, good: str) -> Condition:
    match verdict:
        case Verdict(state="served"):
            return type_.true("Programmed", good)  # type: ignore[no-any-return]  # of whichever type was given
        case Verdict(state="refused", message=message):
            return type_.false("Invalid", REFUSED + message)  # type: ignore[no-any-return]
        case Verdict(state="absent", message=message):
            return type_.false("Pending", message)  # type: ignore[no-any-return]
        case _:
            return type_.not_yet("Pending", WAITING)  # type: ignore[no-any-return]


def listener_status(one: ListenerView, seen: SeenGateway) -> ListenerStatus:
    return ListenerStatus(
        name=one.door.id.name,
        supported_kinds=one.supported,
        attached_routes=seen.counts.get(one.door.id, 0),
        conditions=(*one.conditions, listener_programmed(one, seen)),
    )


def listener_programmed(one: ListenerView, seen: SeenGateway) -> Condition:
    assert seen.view is not None
    if one.refusal:
        reason = one.refusal if one.refusal in ("HostnameConflict", "ProtocolConflict") else "Invalid"
        return LISTENER_PROGRAMMED.false(reason, "The listener can't be served; its other conditions say why")
    if seen.view.accepted.status != "True" or seen.view.address_trouble is not None:
        return LISTENER_PROGRAMMED.false("Invalid", "The gateway is not served; its own conditions say why")
    return answered(LISTENER_PROGRAMMED, seen.verdict, "Listener is programmed")


# ---- listener sets


def judge_set(seen: SeenGateway) -> ListenerSetStatus:
    view, one = seen.view, seen.object
    accepted = next((said for key, said in view.sets if key == one.key), None) if view is not None else None
    if view is None or accepted is None:
        return ListenerSetStatus()
    own = [each for each in view.listeners if each.door.id.kind == "ListenerSet" and each.door.id.key == one.key]
    if accepted.status != "True":
        reason = accepted.reason if accepted.reason in ("NotAllowed", "ListenersNotValid") else "Invalid"
        served = SET_PROGRAMMED.false(reason, accepted.message)
    elif view.address_trouble is not None:
        served = SET_PROGRAMMED.false("Invalid", "The gateway is not served; its own conditions say why")
    else:
        served = answered(SET_PROGRAMMED, seen.verdict, "ListenerSet is programmed")
    return ListenerSetStatus(
        conditions=(accepted, served), listeners=tuple(listener_status(each, seen) for each in own)
    )


def announce_set(seen: SeenGateway) -> Iterable[Notice]:
    if seen.view is None:
        name = seen.object.spec.parent_ref.name
        yield Notice("ParentNotFound", seen.trouble or f"Gateway {name} is not served by this controller any more")


# ---- routes


@dataclass(frozen=True)
class SeenRoute:
    """A route, all entries about it, and how many entries of others are in its status."""

    route: Any
    attachments: tuple[Attachment, ...] = ()
    objections: Mapping[Key, str] = field(default_factory=dict)  # the response of the data plane, by gateway
    missing: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()  # what is wrong with the names of parents
    foreign: int = 0
    concerns: bool = True
    before: Mapping[Any, str] = field(default_factory=dict)  # the previous error, without a response since, by parent

    @property
    def room(self) -> int:
        return max(0, MOST_PARENTS - self.foreign)


def judge_route(seen: SeenRoute, controller_name: str) -> RouteStatus:
    """One entry for each parent of ours, in the order in which the route names them."""
    found: dict[Any, RouteParentStatus] = {}
    for one in seen.attachments:
        entry = RouteParentStatus(
            parent_ref=one.parent, controller_name=controller_name, conditions=objected(one, seen)
        )
        found.setdefault(one.parent, entry)
    return RouteStatus(parents=tuple(found.values())[: seen.room])


def objected(one: Attachment, seen: SeenRoute) -> tuple[Condition, ...]:
    """With the response of the data plane; before the first response after a restart, with the previous one."""
    words = seen.objections.get(one.gateway) or seen.before.get(one.parent)
    if words is None:
        return one.conditions
    refused = ROUTE_ACCEPTED.false("UnsupportedValue", REFUSED + words)
    return tuple(refused if each.type == "Accepted" else each for each in one.conditions)


def refusals(route: Any, controller_name: str) -> dict[Any, str]:
    """The data plane's error about this generation in the route's status, by parent."""
    status: RouteStatus | None = route.status
    return {
        entry.parent_ref: each.message.removeprefix(REFUSED)
        for entry in (status.parents if status is not None else None) or ()
        if entry.controller_name == controller_name
        for each in entry.conditions
        if each.message.startswith(REFUSED) and each.observed_generation == route.metadata.generation
    }


def announce_route(seen: SeenRoute) -> Iterable[Notice]:
    """Only of routes that concern us: those with a parent of ours, now or until just now."""
    for words in seen.invalid:
        yield Notice("ParentNotFound", words)
    for name in seen.missing if seen.concerns else ():
        yield Notice("ParentNotFound", f"{name} does not exist or is not served by this controller")
    if len(seen.attachments) > seen.room:
        words = f"The status holds {MOST_PARENTS} parents, {seen.foreign} of them other controllers'"
        yield Notice("StatusFull", f"{words}; {len(seen.attachments) - seen.room} of this route's are not shown")


# ---- policies


@dataclass(frozen=True)
class SeenPolicy:
    """A policy, and the entries about it, by gateway."""

    policy: Any
    said: Mapping[Key, tuple[Condition, ...]]
    missing: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()  # what is wrong with it that no ancestor's conditions can say

    def room(self, controller_name: str) -> int:
        status: PolicyStatus | None = self.policy.status
        standing = (status.ancestors if status is not None else None) or ()
        return max(0, MOST_ANCESTORS - sum(entry.controller_name != controller_name for entry in standing))


def judge_policy(seen: SeenPolicy, controller_name: str) -> PolicyStatus:
    """One entry for each gateway that the policy has a meaning for."""
    found = [
        AncestorStatus(
            ancestor_ref=ParentReference(group=GROUP, kind="Gateway", namespace=key.namespace, name=key.name),
            controller_name=controller_name,
            conditions=words,
        )
        for key, words in sorted(seen.said.items())
    ]
    return PolicyStatus(ancestors=tuple(found[: seen.room(controller_name)]))


def announce_policy(seen: SeenPolicy, controller_name: str) -> Iterable[Notice]:
    for words in seen.invalid:
        yield Notice("Invalid", words)
    for name in seen.missing:
        yield Notice("TargetNotFound", f"{name} does not exist")
    if isinstance(seen.policy.spec, dict) and seen.policy.spec.get("targetSelectors") and not seen.said:
        yield Notice("TargetNotFound", "Its selectors match nothing that is served here")
    if len(seen.said) > (room := seen.room(controller_name)):
        words = f"The status holds {MOST_ANCESTORS} ancestors, other controllers' among them"
        yield Notice("StatusFull", f"{words}; {len(seen.said) - room} gateways are not shown")
