"""externaldns.k8s.io: DNS records as objects. The spec is that of ExternalDNS; the status shows what the name server
holds."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from seamark_runtime.api.meta import Condition, Object, Resource, Wire
from seamark_runtime.api.schema import ATOMIC, Rule

MOST_ENDPOINTS = 5000
MOST_SHOWN = 100  # endpoints in a status

# Limits of the schema alone: objects stored before them must still be decoded, so that their status can name the error.
_BOUNDED = Meta(extra_json_schema={"maxItems": MOST_ENDPOINTS, "x-kubernetes-list-type": "atomic"})
_NOT_NEGATIVE = Meta(
    description="Seconds that a resolver may keep it; 0 for the default", extra_json_schema={"minimum": 0}
)


class ProviderSpecific(Wire, frozen=True, kw_only=True):
    """A property that only some providers know."""

    name: str = ""
    value: str = ""


class Endpoint(Wire, frozen=True, kw_only=True):
    """One DNS record: a name, a type, and its targets."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="!has(self.recordType) || self.recordType != 'CNAME' || !has(self.targets) || size(self.targets) <= 1",
            message="a CNAME has one target",
            field_path=".targets",
        ),
    )

    dns_name: Annotated[str, Meta(description="The name, as in www.example.org")] = msgspec.field(
        default="", name="dnsName"
    )
    record_type: Annotated[str, Meta(description="A, AAAA, CNAME, TXT, SRV, NS, PTR, MX, NAPTR or DNAME")] = ""
    set_identifier: Annotated[str, Meta(description="Tells records of one name apart, where a provider can")] = ""
    targets: Annotated[tuple[str, ...], ATOMIC] = ()
    record_ttl: Annotated[int, _NOT_NEGATIVE] = msgspec.field(default=0, name="recordTTL")
    labels: dict[str, str] | None = None
    provider_specific: Annotated[tuple[ProviderSpecific, ...], ATOMIC] = ()


class DNSEndpointSpec(Wire, frozen=True, kw_only=True):
    endpoints: Annotated[tuple[Endpoint, ...], _BOUNDED] = ()


class EndpointStatus(Wire, frozen=True, kw_only=True):
    """What became of one record."""

    dns_name: str = msgspec.field(default="", name="dnsName")
    record_type: str = ""
    state: Annotated[str, Meta(description="Programmed, Pending, Failed or NotAccepted")] = ""
    reason: str = ""
    message: str = ""


class DNSEndpointStatus(Wire, frozen=True, kw_only=True):
    observed_generation: int | None = None
    conditions: Annotated[
        tuple[Condition, ...],
        Meta(
            max_length=8,
            extra_json_schema={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = ()
    endpoints: Annotated[
        tuple[EndpointStatus, ...],
        Meta(
            description=f"What became of each record; of many, the first {MOST_SHOWN}, those in trouble first",
            extra_json_schema={"x-kubernetes-list-type": "atomic"},
        ),
    ] = ()


class DNSEndpoint(Object, frozen=True, kw_only=True):
    """DNS records that should be served."""

    RESOURCE: ClassVar[Resource] = Resource("externaldns.k8s.io", "v1alpha1", "DNSEndpoint", "dnsendpoints")

    spec: DNSEndpointSpec = DNSEndpointSpec()
    status: DNSEndpointStatus | None = None
