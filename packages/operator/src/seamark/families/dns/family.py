"""The DNS family, ready to run."""

from __future__ import annotations

from seamark.api.dns import DNSEndpoint
from seamark.families.dns.controller import controllers
from seamark.families.dns.settings import loaded, provider_of, rules_of, timing_of
from seamark.families.dns.state import CONDITIONS
from seamark_runtime.api.crd import CRD, Column
from seamark_runtime.controller import Declaration
from seamark_runtime.family import Family

DNS_ENDPOINT = CRD(
    kind=DNSEndpoint,
    categories=("seamark",),
    columns=(
        Column("Endpoints", ".spec.endpoints[*].dnsName"),
        Column.condition("Accepted"),
        Column.condition("Ready"),
        Column.condition("Ready", says="reason", column="Reason", priority=1),
        Column.condition("Ready", says="message", column="Message", priority=1),
    ),
    conditions=CONDITIONS,
    # The group is protected, and its kinds are ExternalDNS's own: this says where this one was approved.
    annotations={"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/external-dns/pull/2007"},
)


def configured() -> tuple[Declaration, ...]:
    settings = loaded()
    provider = provider_of(settings)
    return controllers(provider, rules_of(settings, provider), timing_of(settings))


DNS = Family(
    name="dns",
    summary="DNSEndpoint: records on a name server, and a status that says what it holds",
    crds=(DNS_ENDPOINT,),
    controllers=configured,
)
