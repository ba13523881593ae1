"""Two controllers: what a BackendTLSPolicy means, and its status."""

from __future__ import annotations

from dataclasses import dataclass, field

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
from seamark.families.gateway.policies.facts import previous
from seamark.families.gateway.policies.state import SeenPolicy
from seamark.families.gateway.policies.status import status_mode
from seamark.families.gateway.values.limits import shown
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
    targets = observe_targets(view, policy)
    authorities, unresolved = observe_authorities(view, key, policy.spec.validation)
    return TLSPolicyView(
        key=key,
        created=policy.metadata.creation_timestamp or "",
        sections=tuple(targets.sections),
        tls=client_tls(policy.spec.validation, authorities),
        conditions=conditions(policy.spec.validation, authorities, unresolved, targets.missing),
        targets=PolicyTargets(tuple(targets.missing), tuple(targets.invalid)),
        lost=tuple(targets.lost),
    )


@dataclass
class SeenTargets:
    """The targets of a policy: what there is, and what is wrong with the others."""

    sections: list[tuple[Key, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)
    lost: list[Key] = field(default_factory=list)  # Services without the port that is named


def observe_targets(view: View, policy: BackendTLSPolicy) -> SeenTargets:
    found = SeenTargets()
    for number, target in enumerate(policy.spec.target_refs):
        where, section = f"spec.targetRefs[{number}]", target.section_name or ""
        if (target.group, target.kind) != ("", "Service"):
            kind = shown(f"{target.kind}.{target.group}".removesuffix("."))
            found.invalid.append(f"{where}: a BackendTLSPolicy has no effect on a {kind} here; use a Service")
        elif problem := invalid_reference(where, target.name):
            found.invalid.append(problem)
        else:
            key = Key(policy.metadata.namespace, target.name)
            service = view.intent(Service, key)
            if service is not None and section not in ("", *port_names(service)):
                found.missing.append(f"{shown(section)} in Service {key}")
                found.lost.append(key)
            else:
                found.sections.append((key, section))
            if service is None:
                found.missing.append(f"Service {key}")
    return found


def port_names(service: Service) -> list[str]:
    return [port.name for port in (service.spec.ports if service.spec else None) or ()]


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
        return SeenPolicy(name, published, results, targets, previous=previous(view, policy, results, dependencies))

    return Controller(
        name="gateway-backendtlspolicies",
        kind=BackendTLSPolicy,
        observe=observe,
        desire=nothing_desired,
        judge=judge,
        announce=announce,
        status=status_mode(name, CONDITIONS),
        reads=Reads(
            optional=(BackendTLSPolicy,), sources=(results_of, dependencies.programmed, dependencies.tls_targets)
        ),
    )
