"""Two controllers: the view of a gateway, and its status."""

from __future__ import annotations

from seamark.families.gateway.gateway.reconcile import judge, report_listeners, report_view
from seamark.families.gateway.gateway.state import (
    GATEWAY_ACCEPTED,
    GATEWAY_PROGRAMMED,
    GATEWAY_RESOLVED,
    Seen,
)
from seamark.families.gateway.gateway.view import gateway_view
from seamark.families.gateway.listeners.facts import gateway_facts, sources
from seamark.families.gateway.model.addresses import NOT_ASSIGNED
from seamark.families.gateway.model.dependencies import Dependencies, nothing_desired
from seamark.families.gateway.model.gateways import GatewayView, our_gateway
from seamark.families.gateway.model.names import MANAGER
from seamark.gatewayapi.listeners import SETS_BY_GATEWAY
from seamark_runtime.api.core import ConfigMap, Namespace, Secret
from seamark_runtime.api.gateway import Gateway, GatewayClass, ListenerSet, ReferenceGrant
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Controller, Declaration, Output, Reads, guarded
from seamark_runtime.grants import GRANTS
from seamark_runtime.status import ByManager, Entries
from seamark_runtime.view import View


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    return (_views(dependencies), *guarded(dependencies.competing, _status(dependencies)))


def _views(dependencies: Dependencies) -> Declaration:
    def observe(view: View, key: Key, _results: Results) -> GatewayView | None:
        gateway = our_gateway(view, key, dependencies.options.controller_name)
        if gateway is None:
            return None
        assignment = view.entry(dependencies.addresses, key) or NOT_ASSIGNED
        return gateway_view(view, gateway, assignment, dependencies.options.foreign_ports)

    return CollectionController(
        name="gateway-views",
        keyed={Gateway: lambda gateway: (gateway.key,)},
        observe=observe,
        desire=nothing_desired,
        outputs=(Output(dependencies.gateways, report_view), Output(dependencies.listeners, report_listeners)),
        reads=Reads(
            kinds=(GatewayClass, ListenerSet, Namespace, ReferenceGrant),
            optional=(ListenerSet,),
            singles=(Secret, ConfigMap),
            indexes=(SETS_BY_GATEWAY, GRANTS),
            sources=(dependencies.addresses,),
        ),
    )


def _status(dependencies: Dependencies) -> Declaration:
    def observe(view: View, gateway: Gateway, _results: Results) -> Seen | None:
        """Of a gateway that is not ours any more, our conditions are removed."""
        facts = gateway_facts(view, gateway.key, dependencies)
        return Seen(gateway, facts) if facts is not None or gateway.metadata.has_status_of(MANAGER) else None

    return Controller(
        name="gateways",
        kind=Gateway,
        observe=observe,
        desire=nothing_desired,
        judge=judge,
        status=ByManager(
            manager=MANAGER,
            conditions=(GATEWAY_ACCEPTED, GATEWAY_PROGRAMMED, GATEWAY_RESOLVED),
            fields=("addresses", "listeners", "attached_listener_sets"),
            entries=Entries("listeners", identity=lambda listener: listener.name),
            policy_condition=f"object.spec.gatewayClassName == '{dependencies.options.class_name}'",
        ),
        reads=Reads(sources=sources(dependencies)),
    )
