"""Two controllers: what a BackendTLSPolicy means, and its status."""

from __future__ import annotations

from seamark.api.gatewaypolicies import BackendTLSPolicy, BackendValidation
from seamark.families.gateway.backendtlspolicy.reconcile import (
    announce,
    client_tls,
    conditions,
    judge,
    report_policy,
    report_targets,
)
from seamark.families.gateway.backendtlspolicy.state import CONDITIONS
from seamark.families.gateway.certificates.references import read_authorities
from seamark.families.gateway.model.dependencies import Dependencies, nothing_desired
from seamark.families.gateway.model.policies import NO_PROBLEMS, PolicyTargets, TLSPolicyView
from seamark.families.gateway.policies.state import SeenPolicy
from seamark.families.gateway.policies.status import status_mode
from seamark.gatewayapi.references import UnresolvedReference, invalid_reference
from seamark_runtime.api.core import ConfigMap, Secret, Service
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Controller, Declaration, Output, Reads, guarded
from seamark_runtime.view import View


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    return (_read(dependencies), *guarded(dependencies.competing, _status(dependencies)))


def _read(dependencies: Dependencies) -> Declaration:
    return CollectionController(
        name="backendtlspolicies-read",
        keyed={BackendTLSPolicy: lambda policy: (policy.key,)},
        observe=observe_policy,
        desire=nothing_desired,
        outputs=(Output(dependencies.tls_policies, report_policy), Output(dependencies.tls_targets, report_targets)),
        reads=Reads(kinds=(Service,), optional=(BackendTLSPolicy,), singles=(Secret, ConfigMap)),
    )


def observe_policy(view: View, key: Key, _results: Results) -> TLSPolicyView | None:
    policy = view.intent(BackendTLSPolicy, key)
    if policy is None or policy.deleting:
        return None
    services, invalid = [], []
    for number, target in enumerate(policy.spec.target_refs):
        if (target.group, target.kind) != ("", "Service"):
            continue
        if problem := invalid_reference(f"spec.targetRefs[{number}]", target.name):
            invalid.append(problem)
        else:
            services.append((Key(key.namespace, target.name), target.section_name or ""))
    authorities, unresolved = observe_authorities(view, key, policy.spec.validation)
    missing = [f"Service {service}" for service, _ in services if view.intent(Service, service) is None]
    return TLSPolicyView(
        key=key,
        created=policy.metadata.creation_timestamp or "",
        sections=tuple(services),
        tls=client_tls(policy.spec.validation, authorities),
        conditions=conditions(policy.spec.validation, authorities, unresolved),
        targets=PolicyTargets(tuple(missing), tuple(invalid)),
    )


def observe_authorities(
    view: View, key: Key, validation: BackendValidation
) -> tuple[list[bytes], list[UnresolvedReference]]:
    authorities: list[bytes] = []
    unresolved: list[UnresolvedReference] = []
    for number, ref in enumerate(validation.ca_certificate_refs or ()):
        found: bytes | UnresolvedReference
        if ref.group or ref.kind not in ("ConfigMap", "Secret"):
            found = UnresolvedReference("InvalidKind", f"{ref.kind} can't hold authorities; use a ConfigMap")
        elif invalid := invalid_reference(f"spec.validation.caCertificateRefs[{number}]", ref.name):
            found = UnresolvedReference("InvalidCACertificateRef", invalid)
        else:
            found = read_authorities(view, ref.kind, Key(key.namespace, ref.name))
        if isinstance(found, UnresolvedReference):
            unresolved.append(found)
        else:
            authorities.append(found)
    return authorities, unresolved


def _status(dependencies: Dependencies) -> Declaration:
    name, results_of = dependencies.options.controller_name, dependencies.policy_results.tls

    def observe(view: View, policy: BackendTLSPolicy, _results: Results) -> SeenPolicy:
        published = (policy.status.ancestors if policy.status is not None else None) or ()
        results = view.entries(results_of, policy.key)
        targets = view.entry(dependencies.tls_targets, policy.key) or NO_PROBLEMS
        return SeenPolicy(name, published, results, targets)

    return Controller(
        name="gateway-backendtlspolicies",
        kind=BackendTLSPolicy,
        observe=observe,
        desire=nothing_desired,
        judge=judge,
        announce=announce,
        status=status_mode(name, CONDITIONS),
        reads=Reads(optional=(BackendTLSPolicy,), sources=(results_of, dependencies.tls_targets)),
    )
