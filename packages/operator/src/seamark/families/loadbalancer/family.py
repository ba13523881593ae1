"""The load balancer family, ready to run."""

from __future__ import annotations

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.agentendpoint.state import CONDITIONS as AGENT_ENDPOINT_CONDITIONS
from seamark.families.loadbalancer.cloudendpoint.state import CONDITIONS as CLOUD_ENDPOINT_CONDITIONS
from seamark.families.loadbalancer.controllers import controllers
from seamark.families.loadbalancer.domain.state import CONDITIONS as DOMAIN_CONDITIONS
from seamark.families.loadbalancer.policy.controller import CONDITIONS as POLICY_CONDITIONS
from seamark.families.loadbalancer.settings import loaded, options_of, provider_of, timing_of
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint, NgrokTrafficPolicy
from seamark_runtime.api.crd import CRD, Column
from seamark_runtime.controller import Declaration
from seamark_runtime.family import Family

READY = Column.condition("Ready")
WHY = (
    Column.condition("Ready", says="reason", column="Reason", priority=1),
    Column.condition("Ready", says="message", column="Message", priority=1),
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


def configured() -> tuple[Declaration, ...]:
    settings = loaded()
    return controllers(provider_of(settings), options_of(settings), timing_of(settings))


LOADBALANCER = Family(
    name="loadbalancer",
    summary="Services of type LoadBalancer, reached through an edge",
    crds=CRDS,
    controllers=configured,
)
