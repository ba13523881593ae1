"""The gateway family, ready to run."""

from __future__ import annotations

from seamark.api.directresponses import DirectResponse
from seamark.api.gatewayextensions import GatewayExtension
from seamark.api.kgateway import TrafficPolicy
from seamark.families.gateway.addresses.controller import controllers as addresses
from seamark.families.gateway.backends.controller import controllers as backends
from seamark.families.gateway.backendtlspolicy.controller import controllers as backend_tls_policies
from seamark.families.gateway.fronts.controller import controllers as fronts
from seamark.families.gateway.gateway.controller import controllers as gateways
from seamark.families.gateway.gatewayclass.controller import controllers as gateway_classes
from seamark.families.gateway.infrastructure.controller import controllers as infrastructure
from seamark.families.gateway.listenerset.controller import controllers as listener_sets
from seamark.families.gateway.model.addresses import AddressAssignment
from seamark.families.gateway.model.dependencies import Dependencies
from seamark.families.gateway.model.options import Options
from seamark.families.gateway.remote import Remote
from seamark.families.gateway.route.controller import controllers as routes
from seamark.families.gateway.settings import data_plane, loaded, options_of
from seamark.families.gateway.trafficpolicy.controller import controllers as traffic_policies
from seamark.families.gateway.translation.controller import controllers as translations
from seamark.gatewayapi.bundle import definitions
from seamark_edge.dataplane.protocol import DataPlane
from seamark_runtime.api.crd import CRD, Column
from seamark_runtime.api.meta import Key
from seamark_runtime.clock import Clock, SystemClock
from seamark_runtime.competing import CompetingControllers
from seamark_runtime.controller import Declaration
from seamark_runtime.family import Family
from seamark_runtime.source import Collection

TRAFFIC_POLICY = CRD(
    kind=TrafficPolicy,
    categories=("seamark",),
    columns=(
        Column("Accepted", '.status.ancestors[*].conditions[?(@.type=="Accepted")].status'),
        Column("Attached", '.status.ancestors[*].conditions[?(@.type=="Attached")].reason', priority=1),
    ),
)
GATEWAY_EXTENSION = CRD(kind=GatewayExtension, categories=("seamark",))
DIRECT_RESPONSE = CRD(kind=DirectResponse, categories=("seamark",))


def controllers(options: Options, provider: DataPlane, *, clock: Clock | None = None) -> tuple[Declaration, ...]:
    clock = clock or SystemClock()
    remote = Remote(provider, clock)
    assigned: Collection[Key, AddressAssignment] = Collection("addresses")
    dependencies = Dependencies(
        options=options,
        perform=remote.perform,
        run_data_plane=provider.run,
        retain=provider.retain,
        lasting_data_plane=provider.lasting,
        presence=provider.presence,
        refused=remote.refused,
        competing=CompetingControllers("controllerName", options.controller_name),
        addresses=assigned,
        local_addresses=assigned if options.front is None else Collection("addresses of this machine"),
    )
    return (
        *gateway_classes(dependencies),
        *addresses(dependencies),
        *fronts(dependencies),
        *infrastructure(dependencies),
        *gateways(dependencies),
        *listener_sets(dependencies),
        *backends(dependencies),
        *routes(dependencies),
        *backend_tls_policies(dependencies),
        *traffic_policies(dependencies),
        *translations(dependencies),
    )


def configured(installation: str = "") -> tuple[Declaration, ...]:
    settings = loaded()
    return controllers(options_of(settings), data_plane(settings, installation))


GATEWAY = Family(
    name="gateway",
    summary="Gateway API: routes with status that is never stale, served by Envoy",
    crds=(TRAFFIC_POLICY, GATEWAY_EXTENSION, DIRECT_RESPONSE),
    controllers=configured,
    outlived=configured,
    published=definitions,
)
