"""Work that is done for many at once, each with keys of its own; what comes of it is left as reports."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from seamark.api.gatewayinfra import EnvoyConfig, FrontService, FrontSlice
from seamark.api.gatewaypolicies import BackendTLSPolicy
from seamark.api.kgateway import TrafficPolicy
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
from seamark.families.gateway.infrastructure import Cluster
from seamark.families.gateway.shapes import Attached, Doors, GatewayView
from seamark.families.gateway.wiring import OPTIONAL, ROUTES, Wiring, nothing
from seamark_runtime.api.core import ConfigMap, Namespace, Secret, Service
from seamark_runtime.api.discovery import EndpointSlice
from seamark_runtime.api.gateway import Gateway, GatewayClass, GRPCRoute, HTTPRoute, ListenerSet, ReferenceGrant, Route
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Declaration
from seamark_runtime.grants import GRANTS
from seamark_runtime.ownership import MANAGED_BY, ByLabels
from seamark_runtime.scope import Scope
from seamark_runtime.source import Collection
from seamark_runtime.view import View

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
        return CollectionController(
            name="gatewayclass-default",
            keyed={Namespace: lambda one: (classes.DEFAULT,) if one.metadata.name == classes.EVERYWHERE else ()},
            reads=(GatewayClass,),
            observe=lambda view, _key, _results: classes.observe_default(
                view, options.class_name, options.controller_name
            ),
            desire=classes.desire_default,
            report=lambda _seen, _answers: {},
            reports=Collection("default class"),
            children=(GatewayClass,),
            ownership=ByLabels(MANAGER, OWNER_NAME, OWNER_NAMESPACE),
        )

    def addresses(self) -> tuple[Declaration, ...]:
        options = self._options
        if options.cluster is not None:
            return (self.pods(options.cluster),)
        return (self.address_pool(), *((self.fronts(options.front),) if options.front is not None else ()))

    def address_pool(self) -> Declaration:
        return CollectionController(
            name="gateway-addresses",
            keyed={Gateway: lambda _gateway: (POOL,), GatewayClass: lambda _class: (POOL,)},  # either may come last
            indexes=(BY_CLASS, BY_CONTROLLER),
            observe=lambda view, _key, _results: addresses.observe(
                view, self._options.addresses, self._options.controller_name, self._all.bounds
            ),
            desire=nothing,
            report=lambda seen, _answers: addresses.assign(seen),
            reports=self._all.bounds,
        )

    def fronts(self, front: Front) -> Declaration:
        """Before an Envoy of this machine, a gateway's address is that of its Service."""
        children: tuple[type[Object], ...] = (FrontService, FrontSlice)
        return CollectionController(
            name="gateway-fronts",
            keyed={Gateway: lambda gateway: (gateway.key,)},
            reads=(GatewayClass, ListenerSet, Namespace),
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
        children: tuple[type[Object], ...] = (EnvoyConfig, cluster.workload_kind, FrontService)
        mine = Scope.labelled({MANAGED_BY: MANAGER}, cluster.namespace)
        return CollectionController(
            name="gateway-infrastructure",
            keyed={Gateway: lambda gateway: (gateway.key,)},
            reads=(GatewayClass, ListenerSet, Namespace),
            optional=(ListenerSet,),
            indexes=(SETS,),
            observe=lambda view, key, results: infrastructure.observe(
                view, key, results, self._options.controller_name, cluster
            ),
            desire=lambda seen: infrastructure.desire(seen, cluster),
            report=infrastructure.report,
            reports=self._all.lots,
            children=children,
            kept=(Secret,),
            perform=self._all.signer.perform,
            scopes={**dict.fromkeys(children, mine), Secret: Scope(cluster.namespace)},
            ownership=ByLabels(MANAGER, OWNER_NAME, OWNER_NAMESPACE),
            children_in=cluster.namespace,
        )

    def gateway_views(self) -> Declaration:
        return CollectionController(
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
        return CollectionController(
            name=f"{kind.RESOURCE.plural}-attached",
            keyed={kind: lambda route: (route.key,)},
            reads=(Gateway, Service, Namespace, ReferenceGrant, ListenerSet),
            optional=(*((kind,) if kind in OPTIONAL else ()), ListenerSet, TrafficPolicy),
            indexes=(GRANTS,),
            sources=(self._all.gateways,),
            observe=lambda view, key, _results: routes.observe(view, kind, key, self._all.gateways),
            desire=nothing,
            report=lambda seen, _answers: routes.report(seen),
            reports=self._all.attachments[kind.RESOURCE.kind],
        )

    def route_counts(self) -> Declaration:
        """Apart from the translation, so that a thousand routes that come together are not counted a thousand times."""
        return CollectionController(
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
        return CollectionController(
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
        return CollectionController(
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
        return CollectionController(
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
        standing = accepted.status == "True" or accepted.reason == "ListenersNotValid"
        reports[("ListenerSet", key)] = doors if standing else Doors(seen.key, ())
    return reports
