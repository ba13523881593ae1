"""BackendTLSPolicy: how backends are spoken to, and how they are known. One view per policy, merged per gateway."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from seamark.api.gatewaypolicies import BackendTLSPolicy, BackendValidation
from seamark.families.gateway.backends import Trouble
from seamark.families.gateway.gateways import read_authorities
from seamark.families.gateway.references import invalid
from seamark.families.gateway.shapes import Backend, GatewayView
from seamark.families.gateway.state import POLICY_ACCEPTED, POLICY_RESOLVED
from seamark_edge.dataplane.model import ClientTls
from seamark_runtime.api.core import Service
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.source import Collection
from seamark_runtime.view import View


@dataclass(frozen=True, slots=True)
class TlsPolicy:
    """A policy as it is translated: made once per change of it, or of what it refers to."""

    key: Key
    created: str
    sections: tuple[tuple[Key, str], ...]  # Services, with the name of a port or none
    tls: ClientTls | None  # None: no server could be verified by it, so no connection is made
    conditions: tuple[Condition, ...]
    missing: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()  # what is wrong with the names of targets

    @property
    def age(self) -> tuple[str, str]:
        return (self.created, str(self.key))


def observe(view: View, key: Key) -> TlsPolicy | None:
    policy = view.intent(BackendTLSPolicy, key)
    if policy is None or policy.deleting:
        return None
    services = [(n, one) for n, one in enumerate(policy.spec.target_refs) if (one.group, one.kind) == ("", "Service")]
    wrong = {number: invalid(f"spec.targetRefs[{number}]", one.name) for number, one in services}
    targets = [one for number, one in services if not wrong[number]]
    pems, troubles = authorities(view, key, policy.spec.validation)
    return TlsPolicy(
        key=key,
        created=policy.metadata.creation_timestamp or "",
        sections=tuple((Key(key.namespace, one.name), one.section_name or "") for one in targets),
        tls=client_tls(policy.spec.validation, pems),
        conditions=judged(policy.spec.validation, pems, troubles),
        missing=tuple(
            f"Service {key.namespace}/{one.name}"
            for one in targets
            if view.intent(Service, Key(key.namespace, one.name)) is None
        ),
        invalid=tuple(filter(None, wrong.values())),
    )


def authorities(view: View, key: Key, validation: BackendValidation) -> tuple[list[bytes], list[Trouble]]:
    pems: list[bytes] = []
    troubles: list[Trouble] = []
    for number, ref in enumerate(validation.ca_certificate_refs or ()):
        got: bytes | Trouble
        if ref.group or ref.kind not in ("ConfigMap", "Secret"):
            got = Trouble("InvalidKind", f"{ref.kind} can't hold authorities; use a ConfigMap")
        elif words := invalid(f"spec.validation.caCertificateRefs[{number}]", ref.name):
            got = Trouble("InvalidCACertificateRef", words)
        else:
            got = read_authorities(view, ref.kind, Key(key.namespace, ref.name), "InvalidCACertificateRef")
        if isinstance(got, Trouble):
            troubles.append(got)
        else:
            pems.append(got)
    return pems, troubles


def client_tls(validation: BackendValidation, pems: list[bytes]) -> ClientTls | None:
    system = validation.well_known_ca_certificates == "System"
    if not pems and not system:
        return None
    names = tuple(
        ("URI", one.uri) if one.type == "URI" else ("DNS", one.hostname) for one in validation.subject_alt_names or ()
    )
    return ClientTls(validation.hostname, b"\n".join(pems) if pems else None, names)


def judged(validation: BackendValidation, pems: list[bytes], troubles: list[Trouble]) -> tuple[Condition, ...]:
    known = validation.well_known_ca_certificates
    if known not in (None, "", "System"):
        accepted = POLICY_ACCEPTED.false("Invalid", f"wellKnownCACertificates {known} is not supported; use System")
    elif not pems and not known:
        words = troubles[0].message if troubles else "The policy names no authorities"
        accepted = POLICY_ACCEPTED.false("NoValidCACertificate", words)
    else:
        accepted = POLICY_ACCEPTED.true("Accepted", "Policy is accepted")
    if troubles:
        return accepted, POLICY_RESOLVED.false(troubles[0].reason, "; ".join(one.message for one in troubles))
    return accepted, POLICY_RESOLVED.true("ResolvedRefs", "All references of the policy are resolved")


def report(seen: TlsPolicy) -> Mapping[Hashable, Any]:
    about = {("missing", seen.key): seen.missing, ("invalid", seen.key): seen.invalid}
    said: dict[Hashable, Any] = {subject: words for subject, words in about.items() if words}
    return {**said, **{service: seen for service, _ in seen.sections}}


def merged(
    view: View, gateway: GatewayView, backends: Iterable[Backend], policies: Collection[Any]
) -> tuple[dict[Backend, ClientTls | None], dict[Key, tuple[Condition, ...]]]:
    """For each backend of a gateway the effective policy; and the verdict on every policy with such a target."""
    tls: dict[Backend, ClientTls | None] = {}
    said: dict[Key, tuple[Condition, ...]] = {}
    held: set[Key] = set()
    for backend in backends:
        found_here: list[TlsPolicy] = list(view.reports(policies, backend.service).values())
        about = sorted(found_here, key=lambda one: one.age)
        by_section: dict[str, list[TlsPolicy]] = {}
        for policy in about:
            for service, section in policy.sections:
                if service == backend.service and section in ("", backend.port_name):
                    by_section.setdefault(section, []).append(policy)
        for found in by_section.values():
            held.add(found[0].key)
            said[found[0].key] = found[0].conditions
            for loser in found[1:]:
                words = f"The older policy {found[0].key.name} says the same of the Service {backend.service.name}"
                conflict = POLICY_ACCEPTED.false("Conflicted", words)
                if loser.key not in held:
                    said[loser.key] = (conflict, *loser.conditions[1:])
        chosen = (by_section.get(backend.port_name) if backend.port_name else None) or by_section.get("")
        if chosen:
            tls[backend] = certified(chosen[0].tls, gateway)
    return tls, said


def certified(tls: ClientTls | None, gateway: GatewayView) -> ClientTls | None:
    """With the gateway's own certificate for backends, if it has one."""
    if tls is None or gateway.backend_certificate is None:
        return tls
    return ClientTls(tls.host, tls.authorities, tls.names, gateway.backend_certificate.name)
