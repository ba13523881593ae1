"""gateway.networking.k8s.io: BackendTLSPolicy."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from seamark_runtime.api.gatewayshared import GROUP, LocalObjectReference, PolicyStatus, TargetReference
from seamark_runtime.api.meta import Object, Resource, Wire


class SubjectAltName(Wire, frozen=True, kw_only=True):
    type: str
    hostname: str = ""
    uri: str = ""


class BackendValidation(Wire, frozen=True, kw_only=True):
    hostname: str = ""
    ca_certificate_refs: tuple[LocalObjectReference, ...] | None = msgspec.field(default=None, name="caCertificateRefs")
    well_known_ca_certificates: str | None = msgspec.field(default=None, name="wellKnownCACertificates")
    subject_alt_names: tuple[SubjectAltName, ...] | None = None


class BackendTLSPolicySpec(Wire, frozen=True, kw_only=True):
    target_refs: tuple[TargetReference, ...] = ()
    validation: BackendValidation = BackendValidation()
    options: dict[str, str] | None = None


class BackendTLSPolicy(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "BackendTLSPolicy", "backendtlspolicies")

    spec: BackendTLSPolicySpec = BackendTLSPolicySpec()
    status: PolicyStatus | None = None
