"""Two controllers for each kind of routes: the attachment of a route, and its status; and the counts of all routes."""

from __future__ import annotations

from seamark.api.directresponses import DirectResponse
from seamark.api.gatewayextensions import GatewayExtension
from seamark.api.kgateway import TrafficPolicy
from seamark.families.gateway.model.dependencies import OPTIONAL, Dependencies, RouteCollections, nothing_desired
from seamark.families.gateway.model.routes import RouteParents
from seamark.families.gateway.route.attachment import observe_attachment
from seamark.families.gateway.route.reconcile import (
    announce,
    attachments,
    counted,
    judge,
    previous_refusals,
    report_attached,
    report_counts,
    report_parents,
    report_used,
)
from seamark.families.gateway.route.state import (
    BACKENDS_READY,
    PARTIALLY_INVALID,
    ROUTE_ACCEPTED,
    ROUTE_RESOLVED,
    Attachments,
    Seen,
    SeenCounts,
)
from seamark_edge.dataplane.model import Origin
from seamark_runtime.api.core import ConfigMap, Namespace, Secret, Service
from seamark_runtime.api.gateway import Gateway, ListenerSet, ReferenceGrant, Route
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Controller, Declaration, Output, Reads, Timing, guarded
from seamark_runtime.grants import GRANTS
from seamark_runtime.status import ByEntry, Entries
from seamark_runtime.view import View


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    attaching = (_attachment(dependencies, routes) for routes in dependencies.routes)
    statuses = (_status(dependencies, routes) for routes in dependencies.routes)
    return (*attaching, _counts(dependencies), *guarded(dependencies.competing, *statuses))


def _attachment(dependencies: Dependencies, routes: RouteCollections) -> Declaration:
    kind = routes.kind

    def observe(view: View, key: Key, _results: Results) -> Attachments | None:
        seen = observe_attachment(view, kind, key, dependencies.listeners)
        return attachments(seen) if seen is not None else None

    return CollectionController(
        name=f"{kind.RESOURCE.plural}-attached",
        keyed={kind: lambda route: (route.key,)},
        observe=observe,
        desire=nothing_desired,
        outputs=(
            Output(routes.parents, report_parents),
            Output(routes.attached, report_attached),
            Output(routes.used, report_used),
        ),
        reads=Reads(
            kinds=(Gateway, Service, Namespace, ReferenceGrant, ListenerSet),
            optional=(
                *((kind,) if kind in OPTIONAL else ()),
                ListenerSet,
                TrafficPolicy,
                GatewayExtension,
                DirectResponse,
            ),
            singles=(Secret, ConfigMap),
            indexes=(GRANTS,),
            sources=(dependencies.listeners,),
        ),
    )


def _counts(dependencies: Dependencies) -> Declaration:
    """Apart from the translation, so that a thousand routes that come together are not counted a thousand times."""

    def observe(view: View, key: Key, _results: Results) -> SeenCounts | None:
        entries = [view.entries(routes.attached, key) for routes in dependencies.routes]
        counts = counted(route for attached in entries for route in attached.values())
        return SeenCounts(key, counts) if counts else None

    return CollectionController(
        name="gateway-counts",
        keyed={Gateway: lambda gateway: (gateway.key,)},
        observe=observe,
        desire=nothing_desired,
        outputs=(Output(dependencies.counts, report_counts),),
        reads=Reads(sources=tuple(routes.attached for routes in dependencies.routes)),
        timing=Timing(spacing=dependencies.options.counting),
    )


def _status(dependencies: Dependencies, routes: RouteCollections) -> Declaration:
    kind, name = routes.kind, dependencies.options.controller_name

    def observe(view: View, route: Route, _results: Results) -> Seen:
        parents = view.entry(routes.parents, route.key) or RouteParents()
        entries = (route.status.parents if route.status is not None else None) or ()
        foreign = sum(entry.controller_name != name for entry in entries)
        # few have been refused, so few have to know whether their data plane has answered
        previous = {
            parent.parent: condition
            for parent, condition in previous_refusals(route, name, parents.ours).items()
            if not dependencies.is_served(view, parent.gateway)
        }
        return Seen(
            route,
            name,
            parents,
            view.entries(dependencies.refusals, Origin(kind.RESOURCE.kind, *route.key)),
            previous,
            {b: found for b in parents.backends if (found := view.entry(dependencies.backend_health, b))},
            foreign,
            concerns_us=bool(parents.ours) or foreign < len(entries),
        )

    return Controller(
        name=kind.RESOURCE.plural,
        kind=kind,
        observe=observe,
        desire=nothing_desired,
        judge=judge,
        announce=announce,
        status=ByEntry(
            entries=Entries("parents", identity=lambda entry: entry.parent_ref),
            ours=lambda entry: entry.controller_name == name,
            policy_condition=f"one.controllerName == '{name}'",
            conditions=(ROUTE_ACCEPTED, ROUTE_RESOLVED, PARTIALLY_INVALID, BACKENDS_READY),
        ),
        reads=Reads(
            optional=(kind,) if kind in OPTIONAL else (),
            sources=(routes.parents, dependencies.refusals, dependencies.programmed, dependencies.backend_health),
        ),
    )
