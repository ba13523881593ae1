"""BackendTLSPolicies at a gateway: which of them is effective for each backend, and what becomes of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from seamark.families.gateway.model.gateways import GatewayView
from seamark.families.gateway.model.policies import TLSPolicyView
from seamark.families.gateway.model.routes import Backend
from seamark.families.gateway.policies.state import POLICY_ACCEPTED
from seamark_edge.dataplane.model import ClientTls
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.conditions import TRUE
from seamark_runtime.source import Collection
from seamark_runtime.view import View


class TLSPolicies(NamedTuple):
    """For each backend its TLS and where it is from; and the conditions of every policy with such a target."""

    tls: Mapping[Backend, ClientTls | None]
    sources: Mapping[Backend, Key]
    conditions: Mapping[Key, tuple[Condition, ...]]


def merge_tls_policies(
    view: View, gateway: GatewayView, backends: Iterable[Backend], policies: Collection[Key, TLSPolicyView]
) -> TLSPolicies:
    """The effective policies of the backends of a gateway."""
    tls: dict[Backend, ClientTls | None] = {}
    sources: dict[Backend, Key] = {}
    conditions: dict[Key, tuple[Condition, ...]] = {}
    effective: set[Key] = set()
    lost: dict[Key, tuple[Condition, ...]] = {}
    for backend in backends:
        found = view.entries(policies, backend.service).values()
        lost |= {policy.key: without_effect(policy) for policy in found if backend.service in policy.lost}
        by_section = about(backend, found)
        for oldest, *others in by_section.values():
            effective.add(oldest.key)
            conditions[oldest.key] = oldest.conditions
            for policy in others:
                if policy.key not in effective:
                    message = f"The older policy {oldest.key.name} says the same of the Service {backend.service.name}"
                    conflict = POLICY_ACCEPTED.false("Conflicted", message)
                    conditions[policy.key] = (conflict, *policy.conditions[1:])
        chosen = (by_section.get(backend.port_name) if backend.port_name else None) or by_section.get("")
        if chosen:
            tls[backend], sources[backend] = with_certificate(chosen[0].tls, gateway), chosen[0].key
    return TLSPolicies(tls, sources, lost | conditions)


def without_effect(policy: TLSPolicyView) -> tuple[Condition, ...]:
    """Of a policy that names a port which the Service does not have."""
    accepted, *others = policy.conditions
    if accepted.status != TRUE:
        return policy.conditions
    return POLICY_ACCEPTED.false("TargetNotFound", f"Not found: {', '.join(policy.targets.missing)}"), *others


def about(backend: Backend, policies: Iterable[TLSPolicyView]) -> dict[str, list[TLSPolicyView]]:
    """The policies about this backend, the oldest first, by the name of the port or none."""
    found: dict[str, list[TLSPolicyView]] = {}
    for policy in sorted(policies, key=lambda policy: policy.age):
        for service, section in policy.sections:
            if service == backend.service and section in ("", backend.port_name):
                found.setdefault(section, []).append(policy)
    return found


def with_certificate(tls: ClientTls | None, gateway: GatewayView) -> ClientTls | None:
    """With the gateway's own certificate for backends, if it has one."""
    if tls is None or gateway.backend_certificate is None:
        return tls
    return ClientTls(tls.host, tls.authorities, tls.names, gateway.backend_certificate.name)
