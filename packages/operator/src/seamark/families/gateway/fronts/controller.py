"""Before an Envoy of this machine, a gateway's address is that of its Service."""

from __future__ import annotations

from seamark.api.gatewayinfra import FrontService, FrontSlice
from seamark.families.gateway.fronts.reconcile import desire, report
from seamark.families.gateway.fronts.state import Seen
from seamark.families.gateway.model.addresses import NOT_ASSIGNED
from seamark.families.gateway.model.dependencies import Dependencies
from seamark.families.gateway.model.gateways import our_gateway
from seamark.families.gateway.model.names import MANAGER, OWNER_NAME, OWNER_NAMESPACE, child_name
from seamark.gatewayapi.listeners import SETS_BY_GATEWAY, ports
from seamark_runtime.api.core import Namespace
from seamark_runtime.api.gateway import Gateway, GatewayClass, ListenerSet
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Declaration, Output, Reads, Writes
from seamark_runtime.ownership import MANAGED_BY, ByLabels
from seamark_runtime.scope import Scope
from seamark_runtime.view import View


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    options, front = dependencies.options, dependencies.options.front
    if front is None or options.cluster is not None:
        return ()

    def observe(view: View, key: Key, _results: Results) -> Seen:
        gateway = our_gateway(view, key, options.controller_name)
        if gateway is None:
            return Seen(key, None, front)
        local = view.entry(dependencies.local_addresses, key) or NOT_ASSIGNED
        service = view.get(FrontService, Key(key.namespace, child_name(key)))
        return Seen(key, gateway, front, local, ports(view, gateway, options.foreign_ports), service)

    children: tuple[type[Object], ...] = (FrontService, FrontSlice)
    return (
        CollectionController(
            name="gateway-fronts",
            keyed={Gateway: lambda gateway: (gateway.key,)},
            observe=observe,
            desire=desire,
            outputs=(Output(dependencies.addresses, report),),
            reads=Reads(
                kinds=(GatewayClass, ListenerSet, Namespace),
                optional=(ListenerSet,),
                indexes=(SETS_BY_GATEWAY,),
                sources=(dependencies.local_addresses,),
                scopes=dict.fromkeys(children, Scope.labelled({MANAGED_BY: MANAGER})),
            ),
            writes=Writes(children=children, ownership=ByLabels(MANAGER, OWNER_NAME, OWNER_NAMESPACE)),
        ),
    )
