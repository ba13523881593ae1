"""On a cluster, a gateway's address is that of its Service. Elsewhere, what was made for it on a cluster is removed."""

from __future__ import annotations

from seamark.api.gatewayinfra import EnvoyConfig, EnvoyDaemonSet, EnvoyDeployment, FrontService
from seamark.families.gateway.infrastructure import credentials
from seamark.families.gateway.infrastructure.reconcile import desire, report
from seamark.families.gateway.infrastructure.state import Removed, Seen
from seamark.families.gateway.model.dependencies import Dependencies, nothing_desired
from seamark.families.gateway.model.gateways import our_gateway
from seamark.families.gateway.model.names import MANAGER, OWNER_NAME, OWNER_NAMESPACE, child_name
from seamark.families.gateway.model.options import Options
from seamark.gatewayapi.listeners import SETS_BY_GATEWAY, ports
from seamark_edge.dataplane.envoy.identity import Identity
from seamark_runtime.api.core import Namespace, Secret
from seamark_runtime.api.gateway import Gateway, GatewayClass, ListenerSet
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Declaration, Output, Reads, Writes
from seamark_runtime.ownership import MANAGED_BY, ByLabels, InNamespace
from seamark_runtime.scope import Scope
from seamark_runtime.view import View

WORKLOADS: tuple[type[Object], ...] = (EnvoyDeployment, EnvoyDaemonSet)


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    options, cluster = dependencies.options, dependencies.options.cluster
    if cluster is None:
        return _removal(options)

    def observe(view: View, key: Key, results: Results) -> Seen:
        gateway = our_gateway(view, key, options.controller_name)
        if gateway is None:
            return Seen(key, None, cluster)
        child, authority = Key(cluster.namespace, child_name(key)), Key(cluster.namespace, cluster.authority)
        return Seen(
            key,
            gateway,
            cluster,
            ports(view, gateway, options.foreign_ports),
            view.get(FrontService, child),
            view.get(cluster.workload_kind, child),
            credentials.observe(view, Identity(key, gateway.uid), child, authority, results),
        )

    children: tuple[type[Object], ...] = (EnvoyConfig, cluster.workload_kind, FrontService)
    ours = Scope.labelled({MANAGED_BY: MANAGER}, cluster.namespace)
    return (
        CollectionController(
            name="gateway-infrastructure",
            keyed={Gateway: lambda gateway: (gateway.key,)},
            observe=observe,
            desire=desire,
            perform=dependencies.perform,
            outputs=(Output(dependencies.addresses, report),),
            reads=Reads(
                kinds=(GatewayClass, ListenerSet, Namespace),
                optional=(ListenerSet,),
                indexes=(SETS_BY_GATEWAY,),
                scopes={**dict.fromkeys(children, ours), Secret: Scope(cluster.namespace)},
            ),
            writes=Writes(
                children=children,
                kept=(Secret,),
                ownership=InNamespace(ByLabels(MANAGER, OWNER_NAME, OWNER_NAMESPACE), cluster.namespace),
            ),
        ),
    )


def _removal(options: Options) -> tuple[Declaration, ...]:
    """Envoys run on this machine: of those that ran as Pods before, nothing is left."""
    namespace = options.former_namespace
    if not namespace:
        return ()

    def observe(_view: View, key: Key, _results: Results) -> Removed:
        return Removed(key)

    # with a Service before each local Envoy, that of a gateway in this namespace has the same name: it is used again
    services = (FrontService,) if options.front is None else ()
    children: tuple[type[Object], ...] = (EnvoyConfig, *WORKLOADS, *services)
    ours = Scope.labelled({MANAGED_BY: MANAGER}, namespace)
    return (
        CollectionController(
            name="gateway-infrastructure",
            keyed={Gateway: lambda gateway: (gateway.key,)},
            observe=observe,
            desire=nothing_desired,
            reads=Reads(optional=WORKLOADS, scopes=dict.fromkeys(children, ours)),
            writes=Writes(
                children=children,
                ownership=InNamespace(ByLabels(MANAGER, OWNER_NAME, OWNER_NAMESPACE), namespace),
            ),
        ),
    )
