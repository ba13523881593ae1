"""The DNS family, ready to run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from seamark.api.dns import DNSEndpoint
from seamark.families.dns.dnsendpoint import controller as dnsendpoint
from seamark.families.dns.dnsendpoint.state import CONDITIONS
from seamark.families.dns.generatedendpoint import controller as generatedendpoint
from seamark.families.dns.model.dependencies import Dependencies
from seamark.families.dns.model.indexes import Indexes, SpecReader
from seamark.families.dns.model.metrics import DnsMetrics
from seamark.families.dns.model.options import Options
from seamark.families.dns.model.responses import Responses
from seamark.families.dns.remote import Remote
from seamark.families.dns.settings import loaded, options_of, provider_of
from seamark.families.dns.sourceobject import controller as sourceobject
from seamark.families.dns.zone import controller as zone
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import Provider
from seamark_runtime.api.crd import CRD, Column
from seamark_runtime.clock import timestamp
from seamark_runtime.competing import CompetingControllers
from seamark_runtime.controller import Declaration, guarded
from seamark_runtime.family import Family
from seamark_runtime.source import Collection

DNS_ENDPOINT = CRD(
    kind=DNSEndpoint,
    categories=("seamark",),
    columns=(
        Column("Endpoints", ".spec.endpoints[*].dnsName"),
        Column.condition("Accepted"),
        Column.condition("Ready"),
        Column.condition("Ready", field="reason", column="Reason", priority=1),
        Column.condition("Ready", field="message", column="Message", priority=1),
    ),
    conditions=CONDITIONS,
    # The group is protected, and its kinds are ExternalDNS's own: this says where this one was approved.
    annotations={"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/external-dns/pull/2007"},
)


def controllers(
    options: Options, provider: Provider, *, wall: Callable[[], datetime] | None = None
) -> tuple[Declaration, ...]:
    return declared(dependencies_of(options, provider, wall=wall))


def dependencies_of(
    options: Options, provider: Provider, *, wall: Callable[[], datetime] | None = None
) -> Dependencies:
    """`wall`: the time for people; the system's unless another is given."""
    rules, intervals = options.rules, options.intervals

    def moment() -> str:
        return timestamp(wall() if wall is not None else datetime.now(UTC))

    responses = Responses(intervals.shelf_life, adjusts=provider.adjusts, asking=intervals.asking)
    metrics = DnsMetrics()
    specs = SpecReader(rules)
    indexes = Indexes(rules, specs)
    return Dependencies(
        options=options,
        perform=Remote(provider, responses, metrics, moment=moment).perform,
        responses=responses,
        metrics=metrics,
        specs=specs,
        indexes=indexes,
        reports=Collection("zone reports"),
        competing=CompetingControllers("owner id", rules.owner, indexes.keys()),
    )


def declared(dependencies: Dependencies) -> tuple[Declaration, ...]:
    return guarded(
        dependencies.competing,
        *zone.controllers(dependencies),
        *dnsendpoint.controllers(dependencies),
        *generatedendpoint.controllers(dependencies),
        *sourceobject.controllers(dependencies),
    )


def configured() -> tuple[Declaration, ...]:
    settings = loaded()
    provider = provider_of(settings) if settings.dns_provider else MemoryProvider(())  # for what is declared alone
    return controllers(options_of(settings, provider), provider)


def require() -> None:
    """A provider must be chosen: there is no default."""
    provider_of(loaded())


DNS = Family(
    name="dns",
    summary="DNSEndpoint: records on a name server, and a status that says what it holds",
    crds=(DNS_ENDPOINT,),
    controllers=configured,
    require=require,
)
