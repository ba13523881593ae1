"""The load balancer family: its CRDs and its controllers."""

from __future__ import annotations

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.agentendpoint.controller import controllers as agent_endpoints
from seamark.families.loadbalancer.agentendpoint.state import CONDITIONS as AGENT_ENDPOINT_CONDITIONS
from seamark.families.loadbalancer.cloudendpoint.controller import controllers as cloud_endpoints
from seamark.families.loadbalancer.cloudendpoint.state import CONDITIONS as CLOUD_ENDPOINT_CONDITIONS
from seamark.families.loadbalancer.domain.controller import controllers as domains
from seamark.families.loadbalancer.domain.state import CONDITIONS as DOMAIN_CONDITIONS
from seamark.families.loadbalancer.hosts.controller import controllers as hosts
from seamark.families.loadbalancer.model.dependencies import Dependencies
from seamark.families.loadbalancer.model.entries import EDGE
from seamark.families.loadbalancer.model.kept import KeptPlaces
from seamark.families.loadbalancer.model.options import Options
from seamark.families.loadbalancer.online.controller import controllers as online
from seamark.families.loadbalancer.online.memory import agents_awaited
from seamark.families.loadbalancer.places.controller import controllers as places
from seamark.families.loadbalancer.remote import Remote
from seamark.families.loadbalancer.service.controller import controllers as services
from seamark.families.loadbalancer.settings import loaded, options_of, provider_of
from seamark.families.loadbalancer.sweep.controller import controllers as sweep
from seamark.families.loadbalancer.trafficpolicy.controller import controllers as traffic_policies
from seamark.families.loadbalancer.trafficpolicy.state import CONDITIONS as POLICY_CONDITIONS
from seamark.providers.edge.protocol import EdgeProvider
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint, NgrokTrafficPolicy
from seamark_runtime.api.crd import CRD, Column
from seamark_runtime.clock import Clock, SystemClock
from seamark_runtime.competing import CompetingControllers
from seamark_runtime.controller import Declaration, guarded
from seamark_runtime.family import Family
from seamark_runtime.memory import Remembered

READY = Column.condition("Ready")
WHY = (
    Column.condition("Ready", field="reason", column="Reason", priority=1),
    Column.condition("Ready", field="message", column="Message", priority=1),
)

AGENT_ENDPOINT = CRD(
    kind=AgentEndpoint,
    short_names=("aep",),
    categories=("networking", "ngrok", "seamark"),
    columns=(
        Column("URL", ".spec.url"),
        Column("Upstream URL", ".spec.upstream.url"),
        Column("Bindings", ".spec.bindings"),
        READY,
        *WHY,
    ),
    conditions=AGENT_ENDPOINT_CONDITIONS,
)
CLOUD_ENDPOINT = CRD(
    kind=CloudEndpoint,
    short_names=("clep",),
    categories=("networking", "ngrok", "seamark"),
    columns=(Column("ID", ".status.id"), Column("URL", ".spec.url"), Column("Bindings", ".spec.bindings"), READY, *WHY),
    conditions=CLOUD_ENDPOINT_CONDITIONS,
)
DOMAIN = CRD(
    kind=Domain,
    categories=("networking", "ngrok", "seamark"),
    columns=(
        Column("ID", ".status.id"),
        Column("Domain", ".spec.domain"),
        Column("Reclaim Policy", ".spec.reclaimPolicy"),
        READY,
        Column("CNAME Target", ".status.cnameTarget", priority=1),
        *WHY,
    ),
    conditions=DOMAIN_CONDITIONS,
)
TRAFFIC_POLICY = CRD(
    kind=NgrokTrafficPolicy,
    categories=("networking", "ngrok", "seamark"),
    columns=(READY, *WHY),
    conditions=POLICY_CONDITIONS,
)
CRDS = (AGENT_ENDPOINT, CLOUD_ENDPOINT, DOMAIN, TRAFFIC_POLICY)


def controllers(options: Options, provider: EdgeProvider, *, clock: Clock | None = None) -> tuple[Declaration, ...]:
    clock = clock or SystemClock()
    awaited = Remembered(agents_awaited)
    remote = Remote(provider, options.timing, clock, hurried=lambda: bool(awaited.get(EDGE)))
    dependencies = Dependencies(
        options=options,
        perform=remote.perform,
        connected=remote.keep_connected,
        reachable=provider.capabilities.reachable,
        upstream_checks=provider.capabilities.upstream_checks,
        policy_refusal=provider.capabilities.policy_refusal,
        policy_check=provider.capabilities.policy_check,
        reserved=remote.reservations.namespaces,
        kept=KeptPlaces(options.timing.hold, clock),
        awaited=awaited,
    )
    kinds = (hosts, services, agent_endpoints, cloud_endpoints, domains, traffic_policies)
    declared = [controller for kind in kinds for controller in kind(dependencies)]
    competing = CompetingControllers("loadBalancerClass", options.lb_class)
    return (*online(dependencies), *places(dependencies), *sweep(dependencies), *guarded(competing, *declared))


def configured() -> tuple[Declaration, ...]:
    settings = loaded()
    return controllers(options_of(settings), provider_of(settings))


LOADBALANCER = Family(
    name="loadbalancer",
    summary="Services of type LoadBalancer, reached through an edge",
    crds=CRDS,
    controllers=configured,
)
