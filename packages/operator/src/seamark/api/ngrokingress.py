"""ingress.k8s.ngrok.com: the host names that endpoints are reached by."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta

from seamark_edge.api.ngrok import Conditions, Description, Metadata
from seamark_runtime.api.meta import Object, Resource, Wire
from seamark_runtime.api.schema import ATOMIC, Rule

HOST = r"^(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*\.?$"


class ResolvesTo(Wire, frozen=True, kw_only=True):
    """A place of the edge that the name shall lead to."""

    value: str


class DomainSpec(Wire, frozen=True, kw_only=True):
    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="self.domain == oldSelf.domain",
            message="domain can't be changed: make another Domain",
            field_path=".domain",
        ),
    )

    domain: Annotated[str, Meta(description="The host name", min_length=1, max_length=253, pattern=HOST)]
    reclaim_policy: Annotated[
        Literal["Delete", "Retain"], Meta(description="What becomes of the name at the edge when this object goes")
    ] = "Delete"
    resolves_to: (
        Annotated[tuple[ResolvesTo, ...], ATOMIC, Meta(description="Where at the edge the name leads")] | None
    ) = None
    description: Description = ""
    metadata: Metadata = None


class CertificateRef(Wire, frozen=True, kw_only=True):
    id: str = ""


class ManagementPolicy(Wire, frozen=True, kw_only=True):
    """How the edge gets certificates for the name."""

    authority: str = ""
    private_key_type: str = ""


class ProvisioningJob(Wire, frozen=True, kw_only=True):
    """What keeps a certificate from being there."""

    error_code: str = ""
    message: str = ""
    started_at: str | None = None
    retries_at: str | None = None


class ManagementStatus(Wire, frozen=True, kw_only=True):
    renews_at: str | None = None
    provisioning_job: ProvisioningJob | None = None


class DomainStatus(Wire, frozen=True, kw_only=True):
    observed_generation: int | None = None
    id: Annotated[str, Meta(description="Its name at the edge")] = ""
    domain: Annotated[str, Meta(description="The host name, as the edge has it")] = ""
    resolves_to: Annotated[tuple[ResolvesTo, ...], ATOMIC] | None = None
    cname_target: Annotated[str, Meta(description="Where the DNS record of a custom domain is to point")] | None = None
    acme_challenge_cname_target: str | None = msgspec.field(default=None, name="acmeChallengeCNAMETarget")
    certificate: CertificateRef | None = None
    certificate_management_policy: ManagementPolicy | None = None
    certificate_management_status: ManagementStatus | None = None
    conditions: Conditions = ()


class Domain(Object, frozen=True, kw_only=True):
    """A host name, reserved at the edge."""

    RESOURCE: ClassVar[Resource] = Resource("ingress.k8s.ngrok.com", "v1alpha1", "Domain", "domains")

    spec: DomainSpec
    status: DomainStatus | None = None
