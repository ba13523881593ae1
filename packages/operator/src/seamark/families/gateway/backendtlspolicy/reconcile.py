"""BackendTLSPolicy → the entries about it; its status is judged as that of every policy. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seamark.api.gatewaypolicies import BackendValidation
from seamark.families.gateway.backendtlspolicy.state import POLICY_RESOLVED
from seamark.families.gateway.model.policies import NO_PROBLEMS, PolicyTargets, TLSPolicyView
from seamark.families.gateway.policies.state import POLICY_ACCEPTED
from seamark.families.gateway.policies.status import announce, judge
from seamark.gatewayapi.references import UnresolvedReference
from seamark_edge.dataplane.model import ClientTls
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.apply import Answers

__all__ = ["announce", "client_tls", "conditions", "judge", "report_policy", "report_targets"]


def client_tls(validation: BackendValidation, authorities: list[bytes]) -> ClientTls | None:
    """None: there is nothing to verify a server by."""
    system = validation.well_known_ca_certificates == "System"
    if not authorities and not system:
        return None
    names = tuple(
        ("URI", name.uri) if name.type == "URI" else ("DNS", name.hostname)
        for name in validation.subject_alt_names or ()
    )
    return ClientTls(validation.hostname, b"\n".join(authorities) if authorities else None, names)


def conditions(
    validation: BackendValidation,
    authorities: list[bytes],
    unresolved: list[UnresolvedReference],
    missing: Sequence[str] = (),
) -> tuple[Condition, ...]:
    known = validation.well_known_ca_certificates
    lacking = f"; not found: {', '.join(missing)}" if missing else ""
    if known not in (None, "", "System"):
        accepted = POLICY_ACCEPTED.false("Invalid", f"wellKnownCACertificates {known} is not supported; use System")
    elif not authorities and not known:
        message = unresolved[0].message if unresolved else "The policy names no authorities"
        accepted = POLICY_ACCEPTED.false("NoValidCACertificate", message)
    else:
        accepted = POLICY_ACCEPTED.true("Accepted", "Policy is accepted" + lacking)
    if unresolved:
        message = "; ".join(reference.message for reference in unresolved)
        return accepted, POLICY_RESOLVED.false(unresolved[0].reason, message)
    return accepted, POLICY_RESOLVED.true("ResolvedRefs", "All references of the policy are resolved")


def report_policy(seen: TLSPolicyView, _answers: Answers) -> Mapping[Key, TLSPolicyView]:
    """By the Services that are its targets, be it by a port that they do not have."""
    return dict.fromkeys((*(service for service, _ in seen.sections), *seen.lost), seen)


def report_targets(seen: TLSPolicyView, _answers: Answers) -> Mapping[Key, PolicyTargets]:
    return {seen.key: seen.targets} if seen.targets != NO_PROBLEMS else {}
