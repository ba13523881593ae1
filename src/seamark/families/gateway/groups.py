"""Work that is done for many at once, each with keys of its own; what comes of it is left as reports."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from seamark.api.core import ConfigMap, Namespace, Secret, Service
from seamark.api.discovery import EndpointSlice
from seamark.api.gateway import Gateway, GatewayClass, GRPCRoute, HTTPRoute, ListenerSet, ReferenceGrant, Route
from seamark.api.gatewayinfra import EnvoyConfig, EnvoyDaemonSet, EnvoyDeployment, FrontService, FrontSlice
from seamark.api.gatewaypolicies import BackendTLSPolicy
from seamark.api.kgateway import TrafficPolicy
from seamark.api.meta import Key, Object
from seamark.core.calls import Results
from seamark.core.controller import Group
from seamark.core.ownership import MANAGED_BY, ByLabels
from seamark.core.scope import Scope
from seamark.core.source import Reports
from seamark.core.view import View
from seamark.core.waker import Declaration
from seamark.families.gateway import (
    addresses,
    backendtls,
    classes,
    fronts,
    gateways,
    infrastructure,
    routes,
    traffic,
    translations,
)
from seamark.families.gateway.addresses import BY_CLASS, BY_CONTROLLER, POOL
from seamark.families.gateway.classes import MANAGER
from seamark.families.gateway.endpoints import BY_SERVICE
from seamark.families.gateway.fronts import Front
from seamark.families.gateway.gateways import SETS
from seamark.families.gateway.grants import GRANTS
from seamark.families.gateway.infrastructure import Cluster
from seamark.families.gateway.shapes import Attached, Doors, GatewayView
from seamark.families.gateway.wiring import OPTIONAL, ROUTES, Wiring, nothing

OWNER_NAME, OWNER_NAMESPACE = "gateway.seamark.dev/owner", "gateway.seamark.dev/owner-namespace"


class Groups:
    """In the order in which one builds on the other."""

    def __init__(self, wiring: Wiring) -> None:
        self._all = wiring
        self._options = wiring.options

    def declarations(self) -> tuple[Declaration, ...]:
        return (
            self.default_class(),
            *self.addresses(),
            self.gateway_views(),
            *(self.route_attachments(kind) for kind in ROUTES),
            self.route_counts(),
            self.tls_policies(),
            self.traffic_policies(),
            self.translation(),
        )

    def default_class(self) -> Declaration:
        options = self._options
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
            rivals=self._all.rivals,
            ownership=ByLabels(MANAGER, OWNER_NAME, OWNER_NAMESPACE),
        )

    def addresses(self) -> tuple[Declaration, ...]:
        options = self._options
        if options.cluster is not None:
            return (self.pods(options.cluster),)
        return (self.address_pool(), *((self.fronts(options.front),) if options.front is not None else ()))

    def address_pool(self) -> Declaration:
        return Group(
            name="gateway-addresses",
            keyed={Gateway: lambda _gateway: (POOL,), GatewayClass: lambda _class: (POOL,)},  # either may come last
            indexes=(BY_CLASS, BY_CONTROLLER),
            observe=lambda view, _key, _results: addresses.observe(
                view, self._options.addresses, self._options.controller_name
            ),
            desire=nothing,
            report=lambda seen, _answers: addresses.assign(seen),
            reports=self._all.bounds,
        )

    def fronts(self, front: Front) -> Declaration:
        """Before an Envoy of this machine, a gateway's address is that of its Service."""
        children: tuple[type[Object], ...] = (FrontService, FrontSlice)
        return Group(
            name="gateway-fronts",
            keyed={Gateway: lambda gateway: (gateway.key,)},
            reads=(GatewayClass, ListenerSet),
            optional=(ListenerSet,),
            indexes=(SETS,),
            sources=(self._all.bounds,),
            observe=lambda view, key, _results: fronts.observe(
                view, key, self._options.controller_name, self._all.bounds
            ),
            desire=lambda seen: fronts.desire(seen, front),
            report=fronts.report,
            reports=self._all.lots,
            children=children,
            scopes=dict.fromkeys(children, Scope.labelled({MANAGED_BY: MANAGER})),
            ownership=ByLabels(MANAGER, OWNER_NAME, OWNER_NAMESPACE),
        )

    def pods(self, cluster: Cluster) -> Declaration:
        """On a cluster, a gateway's address is that of its Service."""
        workload = EnvoyDaemonSet if cluster.workload == "DaemonSet" else EnvoyDeployment
        children: tuple[type[Object], ...] = (EnvoyConfig, workload, FrontService)
        mine = Scope.labelled({MANAGED_BY: MANAGER}, cluster.namespace)
        return Group(
            name="gateway-infrastructure",
            keyed={Gateway: lambda gateway: (gateway.key,)},
            reads=(GatewayClass, ListenerSet),
            optional=(ListenerSet,),
            indexes=(SETS,),
            observe=lambda view, key, _results: infrastructure.observe(
                view, key, self._options.controller_name, cluster
            ),
            desire=lambda seen: infrastructure.desire(seen, cluster),
            report=infrastructure.report,
            reports=self._all.lots,
            children=children,
            rivals=self._all.rivals,
            scopes=dict.fromkeys(children, mine),
            ownership=ByLabels(MANAGER, OWNER_NAME, OWNER_NAMESPACE),
        )

    def gateway_views(self) -> Declaration:
        return Group(
            name="gateway-views",
            keyed={Gateway: lambda gateway: (gateway.key,)},
            reads=(GatewayClass, ListenerSet, Namespace, ReferenceGrant),
            optional=(ListenerSet,),
            singles=(Secret, ConfigMap),
            indexes=(SETS, GRANTS),
            sources=(self._all.lots,),
            observe=lambda view, key, _results: gateways.observe(
                view, key, self._options.controller_name, self._all.lots
            ),
            desire=nothing,
            report=lambda seen, _answers: gateway_reports(seen),
            reports=self._all.gateways,
        )

    def route_attachments(self, kind: type[Route]) -> Declaration:
        return Group(
            name=f"{kind.RESOURCE.plural}-attached",
            keyed={kind: lambda route: (route.key,)},
            reads=(Gateway, Service, Namespace, ReferenceGrant, ListenerSet),
            optional=(*((kind,) if kind in OPTIONAL else ()), ListenerSet),
            indexes=(GRANTS,),
            sources=(self._all.gateways,),
            observe=lambda view, key, _results: routes.observe(view, kind, key, self._all.gateways),
            desire=nothing,
            report=lambda seen, _answers: routes.report(seen),
            reports=self._all.attachments[kind.RESOURCE.kind],
        )

    def route_counts(self) -> Declaration:
        """Apart from the translation, so that a thousand routes that come together are not counted a thousand times."""
        return Group(
            name="gateway-counts",
            keyed={Gateway: lambda gateway: (gateway.key,)},
            sources=tuple(self._all.attachments.values()),
            observe=self._count,
            desire=nothing,
            report=lambda seen, _answers: seen,
            reports=self._all.counts,
            spacing=self._options.counting,
        )

    def _count(self, view: View, key: Key, _results: Results) -> Mapping[Hashable, Any] | None:
        found: dict[Any, int] = {}
        for reports in self._all.attachments.values():
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
            reports=self._all.tls,
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
            reports=self._all.traffic,
        )

    def translation(self) -> Declaration:
        return Group(
            name="gateway-translations",
            keyed={Gateway: lambda gateway: (gateway.key,)},
            reads=(EndpointSlice,),
            indexes=(BY_SERVICE,),
            sources=(
                self._all.gateways,
                self._all.tls,
                self._all.traffic,
                self._all.programmer.plane.presence,
                *self._all.attachments.values(),
            ),
            observe=self._all.translator.observe,
            desire=translations.desire,
            report=lambda seen, _answers: translations.report(seen),
            reports=self._all.verdicts,
            perform=self._all.programmer.perform,
            spacing=self._options.translating,
            companions=(self._all.programmer.plane.run,),
        )


def gateway_reports(seen: GatewayView) -> Mapping[Hashable, Any]:
    """The whole view for the translation and the status; for routes only what they have to know."""
    doors = Doors(seen.key, tuple(one.door for one in seen.listeners))
    reports: dict[Hashable, Any] = {seen.key: seen, ("Gateway", seen.key): doors}
    for key, accepted in seen.sets:
        if accepted.status == "True" or accepted.reason == "ListenersNotValid":
            reports[("ListenerSet", key)] = doors
    return reports
