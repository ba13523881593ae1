"""The wiring: route → attachments → gateway, and the status of each judged from what was said about it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from seamark.api.core import Namespace, Service
from seamark.api.gateway import (
    Gateway,
    GatewayClass,
    GatewayClassStatus,
    GatewayStatus,
    HTTPRoute,
    ListenerStatus,
    RouteGroupKind,
    RouteParentStatus,
    RouteStatus,
)
from seamark.api.meta import Key
from seamark.core.apply import Answers
from seamark.core.calls import Results
from seamark.core.controller import Controller, Group, Wanted
from seamark.core.source import Reports
from seamark.core.status import ByEntry, ByManager, Entries
from seamark.core.view import View
from seamark.core.waker import Declaration
from seamark.families.gateway.attach import Backend, Candidate, attach
from seamark.families.gateway.state import (
    CLASS_ACCEPTED,
    CONTROLLER_NAME,
    GATEWAY_ACCEPTED,
    GATEWAY_PROGRAMMED,
    RESOLVED_REFS,
    ROUTE_ACCEPTED,
    Attachment,
    gateway_of,
)


@dataclass(frozen=True)
class SeenRoute:
    route: HTTPRoute
    candidates: tuple[Candidate, ...]
    backends: tuple[Backend, ...]


@dataclass(frozen=True)
class Said:
    """An object, and what was said about it, by whom."""

    object: Any
    attachments: Mapping[Key, tuple[Attachment, ...]]


def nothing(_seen: object) -> Wanted:
    return Wanted()


def controllers() -> tuple[Declaration, ...]:
    attachments: Reports[tuple[Attachment, ...]] = Reports("attachments")
    return (
        Group(
            name="attachments",
            keyed={HTTPRoute: lambda route: (route.key,)},
            reads=(Gateway, GatewayClass, Service, Namespace),
            observe=observe_route,
            desire=nothing,
            report=report_attachments,
            reports=attachments,
        ),
        Controller(
            name="httproutes",
            kind=HTTPRoute,
            sources=(attachments,),
            observe=lambda view, route, _results: Said(route, view.reports(attachments, ("route", route.key))),
            desire=nothing,
            judge=judge_route,
            status=ByEntry(
                entries=Entries("parents", identity=lambda entry: entry.parent_ref),
                ours=lambda entry: entry.controller_name == CONTROLLER_NAME,
                conditions=(ROUTE_ACCEPTED, RESOLVED_REFS),
            ),
        ),
        Controller(
            name="gateways",
            kind=Gateway,
            reads=(GatewayClass,),
            sources=(attachments,),
            observe=lambda view, gateway, _results: observe_gateway(view, gateway, attachments),
            desire=nothing,
            judge=judge_gateway,
            status=ByManager(
                manager="seamark-gateways",
                conditions=(GATEWAY_ACCEPTED, GATEWAY_PROGRAMMED),
                fields=("listeners",),
                entries=Entries("listeners", identity=lambda listener: listener.name),
            ),
            spacing=3.0,
        ),
        Controller(
            name="gatewayclasses",
            kind=GatewayClass,
            observe=lambda _view, one, _results: one if one.spec.controller_name == CONTROLLER_NAME else None,
            desire=nothing,
            judge=judge_class,
            status=ByManager(manager="seamark-gateways", conditions=(CLASS_ACCEPTED,)),
        ),
    )


def observe_route(view: View, key: Key, _results: Results) -> SeenRoute | None:
    route = view.intent(HTTPRoute, key)
    if route is None or route.deleting:
        return None
    namespace = view.intent(Namespace, Key("", key.namespace))
    labels = (namespace.metadata.labels or {}) if namespace is not None else {}
    candidates = []
    for parent in route.spec.parent_refs:
        name = gateway_of(route, parent)
        gateway = ours(view, name) if name is not None else None
        if gateway is not None:
            candidates.append(Candidate(parent, gateway, labels))
    return SeenRoute(route, tuple(candidates), backends(view, route))


def ours(view: View, key: Key) -> Gateway | None:
    gateway = view.intent(Gateway, key)
    if gateway is None or gateway.deleting:
        return None
    its_class = view.intent(GatewayClass, Key("", gateway.spec.gateway_class_name))
    return gateway if its_class is not None and its_class.spec.controller_name == CONTROLLER_NAME else None


def backends(view: View, route: HTTPRoute) -> tuple[Backend, ...]:
    found: dict[tuple[str, Key], Backend] = {}
    for rule in route.spec.rules:
        for ref in rule.backend_refs:
            kind, key = ref.kind or "Service", Key(ref.namespace or route.metadata.namespace, ref.name)
            there = kind == "Service" and view.intent(Service, key) is not None
            found[(kind, key)] = Backend(kind, key, there)
    return tuple(found.values())


def report_attachments(seen: SeenRoute, _answers: Answers) -> Mapping[Hashable, Any]:
    """What is said about the route, and about each gateway that it names."""
    made = [(candidate.gateway.key, attach(seen.route, candidate, seen.backends)) for candidate in seen.candidates]
    if not made:
        return {}
    reports: dict[Hashable, tuple[Attachment, ...]] = {("route", seen.route.key): tuple(one for _, one in made)}
    for key in dict.fromkeys(key for key, _ in made):
        reports[("gateway", key)] = tuple(one for gateway, one in made if gateway == key)
    return reports


def judge_route(seen: Said, _answers: Answers) -> RouteStatus:
    said = [attachment for attachments in seen.attachments.values() for attachment in attachments]
    return RouteStatus(
        parents=tuple(
            RouteParentStatus(parent_ref=one.parent, controller_name=CONTROLLER_NAME, conditions=one.conditions)
            for one in said
        )
    )


def observe_gateway(view: View, gateway: Gateway, attachments: Reports[tuple[Attachment, ...]]) -> Said | None:
    if ours(view, gateway.key) is None:
        return None
    return Said(gateway, view.reports(attachments, ("gateway", gateway.key)))


def judge_gateway(seen: Said, _answers: Answers) -> GatewayStatus:
    counts: dict[str, int] = {}
    for attached in seen.attachments.values():
        for name in dict.fromkeys(name for one in attached for name in one.listeners):
            counts[name] = counts.get(name, 0) + 1
    accepted = GATEWAY_ACCEPTED.true("Accepted", "All listeners are valid")
    programmed = GATEWAY_PROGRAMMED.not_yet("Pending", "The data plane has not answered yet")
    return GatewayStatus(
        conditions=(accepted, programmed),
        listeners=tuple(
            ListenerStatus(
                name=listener.name,
                supported_kinds=(RouteGroupKind(kind="HTTPRoute"),),
                attached_routes=counts.get(listener.name, 0),
                conditions=(accepted, programmed),
            )
            for listener in seen.object.spec.listeners
        ),
    )


def judge_class(_seen: GatewayClass, _answers: Answers) -> GatewayClassStatus:
    return GatewayClassStatus(conditions=(CLASS_ACCEPTED.true("Accepted", "Seamark serves this class"),))
