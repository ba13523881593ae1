"""BackendTLSPolicies at a gateway: which of them is effective for each backend, and what becomes of the others."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.families.gateway.model.gateways import GatewayView
from seamark.families.gateway.model.policies import TLSPolicyView
from seamark.families.gateway.model.routes import Backend
from seamark.families.gateway.policies.state import POLICY_ACCEPTED
from seamark_edge.dataplane.model import ClientTls
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.source import Collection
from seamark_runtime.view import View


def merge_tls_policies(
    view: View, gateway: GatewayView, backends: Iterable[Backend], policies: Collection[Key, TLSPolicyView]
) -> tuple[dict[Backend, ClientTls | None], dict[Key, tuple[Condition, ...]]]:
    """For each backend of a gateway the effective policy; and the conditions of every policy with such a target."""
    tls: dict[Backend, ClientTls | None] = {}
    conditions: dict[Key, tuple[Condition, ...]] = {}
    effective: set[Key] = set()
    for backend in backends:
        by_section = about(backend, view.entries(policies, backend.service).values())
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
            tls[backend] = with_certificate(chosen[0].tls, gateway)
    return tls, conditions


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
