"""The wiring.

addresses ─► gateways ─► routes ─► counts
                 │          └────► translations ─► the data plane
                 └─────────────────────┘  each leaves reports; the status of every object is judged from them
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

from seamark.api.core import ConfigMap, Namespace, Secret, Service
from seamark.api.discovery import EndpointSlice
from seamark.api.gateway import (
    Gateway,
    GatewayClass,
    GRPCRoute,
    HTTPRoute,
    ListenerSet,
    ReferenceGrant,
    Route,
    TCPRoute,
    TLSRoute,
)
from seamark.api.gatewaypolicies import BackendTLSPolicy
from seamark.api.kgateway import TrafficPolicy
from seamark.api.meta import Key
from seamark.core.calls import Results
from seamark.core.conditions import ConditionType
from seamark.core.controller import Controller, Group, Wanted
from seamark.core.ownership import ByLabels
from seamark.core.source import Reports
from seamark.core.status import ByEntry, ByManager, Entries
from seamark.core.view import View
from seamark.core.waker import Declaration
from seamark.families.gateway import addresses, backendtls, classes, gateways, routes, traffic, translations
from seamark.families.gateway.addresses import BY_CLASS, BY_CONTROLLER, POOL, Lot
from seamark.families.gateway.classes import MANAGER, Rivals, SeenClass
from seamark.families.gateway.endpoints import BY_SERVICE
from seamark.families.gateway.gateways import SETS
from seamark.families.gateway.grants import GRANTS
from seamark.families.gateway.listeners import gateway_key
from seamark.families.gateway.options import Options
from seamark.families.gateway.programming import Programmer
from seamark.families.gateway.shapes import Attached, Doors, GatewayView
from seamark.families.gateway.state import (
    CLASS_ACCEPTED,
    GATEWAY_ACCEPTED,
    GATEWAY_PROGRAMMED,
    GATEWAY_RESOLVED,
    PARTIALLY_INVALID,
    POLICY_ACCEPTED,
    POLICY_ATTACHED,
    POLICY_RESOLVED,
    ROUTE_ACCEPTED,
    ROUTE_RESOLVED,
    SET_ACCEPTED,
    SET_PROGRAMMED,
)
from seamark.families.gateway.translations import Translator
from seamark.families.gateway.words import (
    Counts,
    SeenGateway,
    SeenPolicy,
    SeenRoute,
    announce_policy,
    announce_route,
    announce_set,
    judge_gateway,
    judge_policy,
    judge_route,
    judge_set,
)
from seamark.providers.dataplane.protocol import DataPlane

ROUTES: tuple[type[Route], ...] = (HTTPRoute, GRPCRoute, TLSRoute, TCPRoute)
OWNER_NAME, OWNER_NAMESPACE = "gateway.seamark.dev/owner", "gateway.seamark.dev/owner-namespace"
OPTIONAL = (GRPCRoute, TLSRoute, TCPRoute, ListenerSet)


def nothing(_seen: object) -> Wanted:
    return Wanted()


def controllers(plane: DataPlane, options: Options = Options()) -> tuple[Declaration, ...]:  # noqa: B008 - frozen
    return Wiring(plane, options).declarations()


class Wiring:
    """All keys of the family, and the reports between them."""

    def __init__(self, plane: DataPlane, options: Options) -> None:
        self.options = options
        self.lots: Reports[Lot] = Reports("addresses")
        self.gateways: Reports[Any] = Reports("gateways")
        self.attachments: dict[str, Reports[Any]] = {
            kind.RESOURCE.kind: Reports(f"{kind.RESOURCE.plural} attached") for kind in ROUTES
        }
        self.counts: Reports[Any] = Reports("routes counted")
        self.verdicts: Reports[Any] = Reports("verdicts")
        self.tls: Reports[Any] = Reports("backend TLS policies")
        self.traffic: Reports[Any] = Reports("traffic policies")
        self.rivals = Rivals(options.controller_name)
        self.programmer = Programmer(plane)
        self.translator = Translator(options, self.programmer, self.gateways, self.attachments, self.tls, self.traffic)

    def declarations(self) -> tuple[Declaration, ...]:
        return (
            self.address_pool(),
            self.gateway_views(),
            *(self.route_attachments(kind) for kind in ROUTES),
            self.route_counts(),
            self.tls_policies(),
            self.traffic_policies(),
            self.translation(),
            self.default_class(),
            self.gateway_classes(),
            self.gateway_status(),
            self.set_status(),
            *(self.route_status(kind) for kind in ROUTES),
            self.policy_status(BackendTLSPolicy, (POLICY_ACCEPTED, POLICY_RESOLVED)),
            self.policy_status(TrafficPolicy, (POLICY_ACCEPTED, POLICY_ATTACHED)),
        )

    # ---- work for many at once

    def address_pool(self) -> Declaration:
        return Group(
            name="gateway-addresses",
            keyed={Gateway: lambda _gateway: (POOL,)},
            reads=(GatewayClass,),
            indexes=(BY_CLASS, BY_CONTROLLER),
            observe=lambda view, _key, _results: addresses.observe(
                view, self.options.addresses, self.options.controller_name
            ),
            desire=nothing,
            report=lambda seen, _answers: addresses.assign(seen),
            reports=self.lots,
        )

    def gateway_views(self) -> Declaration:
        return Group(
            name="gateway-views",
            keyed={Gateway: lambda gateway: (gateway.key,)},
            reads=(GatewayClass, ListenerSet, Namespace, ReferenceGrant),
            optional=(ListenerSet,),
            singles=(Secret, ConfigMap),
            indexes=(SETS, GRANTS),
            sources=(self.lots,),
            observe=lambda view, key, _results: gateways.observe(view, key, self.options.controller_name, self.lots),
            desire=nothing,
            report=lambda seen, _answers: gateway_reports(seen),
            reports=self.gateways,
        )

    def route_attachments(self, kind: type[Route]) -> Declaration:
        return Group(
            name=f"{kind.RESOURCE.plural}-attached",
            keyed={kind: lambda route: (route.key,)},
            reads=(Gateway, Service, Namespace, ReferenceGrant, ListenerSet),
            optional=(*((kind,) if kind in OPTIONAL else ()), ListenerSet),
            indexes=(GRANTS,),
            sources=(self.gateways,),
            observe=lambda view, key, _results: routes.observe(view, kind, key, self.gateways),
            desire=nothing,
            report=lambda seen, _answers: routes.report(seen),
            reports=self.attachments[kind.RESOURCE.kind],
        )

    def route_counts(self) -> Declaration:
        """Apart from the translation, so that a thousand routes that come together are not counted a thousand times."""
        return Group(
            name="gateway-counts",
            keyed={Gateway: lambda gateway: (gateway.key,)},
            sources=tuple(self.attachments.values()),
            observe=self._count,
            desire=nothing,
            report=lambda seen, _answers: seen,
            reports=self.counts,
            spacing=self.options.counting,
        )

    def _count(self, view: View, key: Key, _results: Results) -> Mapping[Hashable, Any] | None:
        found: dict[Any, int] = {}
        for reports in self.attachments.values():
            attached: Attached
            for attached in view.reports(reports, ("gateway", key)).values():
                for listener, _ in attached.through:
                    found[listener] = found.get(listener, 0) + 1
        return {("counts", key): found} if found else None

    def tls_policies(self) -> Declaration:
        return Group(
            name="backendtlspolicies-read",
            keyed={BackendTLSPolicy: lambda policy: (policy.key,)},
            reads=(Service,),
            optional=(BackendTLSPolicy,),
            singles=(Secret, ConfigMap),
            observe=lambda view, key, _results: backendtls.observe(view, key),
            desire=nothing,
            report=lambda seen, _answers: backendtls.report(seen),
            reports=self.tls,
        )

    def traffic_policies(self) -> Declaration:
        return Group(
            name="trafficpolicies-read",
            keyed={TrafficPolicy: lambda policy: (policy.key,)},
            reads=(Gateway, HTTPRoute),
            optional=(TrafficPolicy, GRPCRoute, ListenerSet),
            observe=lambda view, key, _results: traffic.observe(view, key),
            desire=nothing,
            report=lambda seen, _answers: traffic.report(seen),
            reports=self.traffic,
        )

    def translation(self) -> Declaration:
        return Group(
            name="gateway-translations",
            keyed={Gateway: lambda gateway: (gateway.key,)},
            reads=(EndpointSlice,),
            indexes=(BY_SERVICE,),
            sources=(self.gateways, self.tls, self.traffic, self.programmer.plane.presence, *self.attachments.values()),
            observe=self.translator.observe,
            desire=translations.desire,
            report=lambda seen, _answers: translations.report(seen),
            reports=self.verdicts,
            perform=self.programmer.perform,
            spacing=self.options.translating,
            companions=(self.programmer.plane.run,),
        )

    # ---- what each object says

    def default_class(self) -> Declaration:
        options = self.options
        return Group(
            name="gatewayclass-default",
            keyed={Namespace: lambda one: (classes.DEFAULT,) if one.metadata.name == classes.EVERYWHERE else ()},
            reads=(GatewayClass,),
            observe=lambda view, _key, _results: classes.observe_default(
                view, options.class_name, options.controller_name
            ),
            desire=classes.desire_default,
            report=lambda _seen, _answers: {},
            reports=Reports("default class"),
            children=(GatewayClass,),
            ownership=ByLabels(MANAGER, OWNER_NAME, OWNER_NAMESPACE),
        )

    def gateway_classes(self) -> Declaration:
        name = self.options.controller_name
        return Controller(
            name="gatewayclasses",
            kind=GatewayClass,
            sources=(self.rivals.facts,),
            observe=self._class,
            desire=nothing,
            judge=lambda seen, _answers: classes.judge(seen, self.options.features),
            announce=lambda seen, _answers: classes.announce(seen, name),
            status=ByManager(manager=MANAGER, conditions=(CLASS_ACCEPTED,), fields=("supported_features",)),
        )

    def _class(self, view: View, one: GatewayClass, _results: Results) -> SeenClass | None:
        if one.spec.controller_name != self.options.controller_name:
            return None
        return SeenClass(one, self.rivals.notice(view, one))

    def gateway_status(self) -> Declaration:
        return Controller(
            name="gateways",
            kind=Gateway,
            sources=(self.gateways, self.counts, self.verdicts, self.rivals.facts),
            observe=lambda view, gateway, _results: self._told(view, gateway, gateway.key),
            desire=nothing,
            judge=lambda seen, _answers: judge_gateway(seen),
            status=ByManager(
                manager=MANAGER,
                conditions=(GATEWAY_ACCEPTED, GATEWAY_PROGRAMMED, GATEWAY_RESOLVED),
                fields=("addresses", "listeners", "attached_listener_sets"),
                entries=Entries("listeners", identity=lambda listener: listener.name),
            ),
        )

    def set_status(self) -> Declaration:
        return Controller(
            name="listenersets",
            kind=ListenerSet,
            optional=(ListenerSet,),
            sources=(self.gateways, self.counts, self.verdicts, self.rivals.facts),
            observe=lambda view, one, _results: self._told(view, one, gateway_key(one)),
            desire=nothing,
            judge=lambda seen, _answers: judge_set(seen),
            announce=lambda seen, _answers: announce_set(seen),
            status=ByManager(
                manager=MANAGER,
                conditions=(SET_ACCEPTED, SET_PROGRAMMED),
                fields=("listeners",),
                entries=Entries("listeners", identity=lambda listener: listener.name),
            ),
        )

    def _told(self, view: View, obj: Gateway | ListenerSet, key: Key | None) -> SeenGateway | None:
        """What is known of the gateway; nothing known, but words of ours there: those have to go."""
        if self.rivals.speaking(view):
            return None
        found: GatewayView | None = None
        if key is not None:
            found = next(iter(view.reports(self.gateways, key).values()), None)
        if found is None:
            return SeenGateway(obj) if obj.metadata.spoken(MANAGER) else None
        verdict = next(iter(view.reports(self.verdicts, ("verdict", key)).values()), None)
        counts: Counts = next(iter(view.reports(self.counts, ("counts", key)).values()), {})
        return SeenGateway(obj, found, verdict, counts)

    def route_status(self, kind: type[Route]) -> Declaration:
        name = self.options.controller_name
        return Controller(
            name=kind.RESOURCE.plural,
            kind=kind,
            optional=(kind,) if kind in OPTIONAL else (),
            sources=(self.attachments[kind.RESOURCE.kind], self.verdicts, self.rivals.facts),
            observe=partial(self._route, self.attachments[kind.RESOURCE.kind]),
            desire=nothing,
            judge=lambda seen, _answers: judge_route(seen, name),
            announce=lambda seen, _answers: announce_route(seen),
            status=ByEntry(
                entries=Entries("parents", identity=lambda entry: entry.parent_ref),
                ours=lambda entry: entry.controller_name == name,
                conditions=(ROUTE_ACCEPTED, ROUTE_RESOLVED, PARTIALLY_INVALID),
            ),
        )

    def _route(self, reports: Reports[Any], view: View, route: Any, _results: Results) -> SeenRoute | None:
        if self.rivals.speaking(view):
            return None
        kind = route.RESOURCE.kind
        attached = next(iter(view.reports(reports, (kind, route.key)).values()), ())
        missing = next(iter(view.reports(reports, ("missing", kind, route.key)).values()), ())
        objections = view.reports(self.verdicts, (kind, route.key))
        standing = (route.status.parents if route.status is not None else None) or ()
        foreign = sum(entry.controller_name != self.options.controller_name for entry in standing)
        concerns = bool(attached) or foreign < len(standing)
        return SeenRoute(route, attached, objections, missing, foreign, concerns)

    def policy_status(self, kind: type[Any], conditions: tuple[ConditionType, ...]) -> Declaration:
        name = self.options.controller_name
        return Controller(
            name=kind.RESOURCE.plural,
            kind=kind,
            optional=(kind,),
            sources=(self.verdicts, self.traffic, self.tls, self.rivals.facts),
            observe=self._policy,
            desire=nothing,
            judge=lambda seen, _answers: judge_policy(seen, name),
            announce=lambda seen, _answers: announce_policy(seen, name),
            status=ByEntry(
                entries=Entries("ancestors", identity=lambda entry: entry.ancestor_ref),
                ours=lambda entry: entry.controller_name == name,
                conditions=conditions,
            ),
        )

    def _policy(self, view: View, policy: Any, _results: Results) -> SeenPolicy | None:
        if self.rivals.speaking(view):
            return None
        said = view.reports(self.verdicts, (policy.RESOURCE.kind, policy.key))
        read = self.traffic if isinstance(policy, TrafficPolicy) else self.tls
        missing = next(iter(view.reports(read, ("missing", policy.key)).values()), ())
        return SeenPolicy(policy, said, missing)


def gateway_reports(seen: GatewayView) -> Mapping[Hashable, Any]:
    """The whole view for the translation and the status; for routes only what they have to know."""
    doors = Doors(seen.key, tuple(one.door for one in seen.listeners))
    reports: dict[Hashable, Any] = {seen.key: seen, ("Gateway", seen.key): doors}
    for key, accepted in seen.sets:
        if accepted.status == "True" or accepted.reason == "ListenersNotValid":
            reports[("ListenerSet", key)] = doors
    return reports
