"""Two controllers: what a TrafficPolicy means, and its status."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from seamark.api.gatewayextensions import GatewayExtension
from seamark.api.kgateway import TrafficPolicy
from seamark.families.gateway.model.dependencies import Dependencies, nothing_desired
from seamark.families.gateway.model.policies import NO_PROBLEMS, TrafficPolicyView
from seamark.families.gateway.policies.facts import previous
from seamark.families.gateway.policies.state import SeenPolicy
from seamark.families.gateway.policies.status import status_mode
from seamark.families.gateway.rules.trafficpolicies import TARGET_KINDS, observe_settings
from seamark.families.gateway.trafficpolicy.reconcile import announce, judge, report_policy, report_targets
from seamark.families.gateway.trafficpolicy.state import CONDITIONS
from seamark.families.gateway.values import limits
from seamark_runtime.api.core import ConfigMap, Secret, Service
from seamark_runtime.api.gateway import Gateway, GRPCRoute, HTTPRoute, ListenerSet, ReferenceGrant
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Controller, Declaration, Output, Reads, guarded
from seamark_runtime.grants import GRANTS
from seamark_runtime.view import View


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    return (_read(dependencies), *guarded(dependencies.competing, _status(dependencies)))


def _read(dependencies: Dependencies) -> Declaration:
    return CollectionController(
        name="trafficpolicies-read",
        keyed={TrafficPolicy: lambda policy: (policy.key,)},
        observe=observe_policy,
        desire=nothing_desired,
        outputs=(
            Output(dependencies.traffic_policies, report_policy),
            Output(dependencies.traffic_targets, report_targets),
        ),
        reads=Reads(
            kinds=(Gateway, HTTPRoute, Service, ReferenceGrant),
            optional=(TrafficPolicy, GatewayExtension, GRPCRoute, ListenerSet),
            singles=(Secret, ConfigMap),
            indexes=(GRANTS,),
        ),
    )


def observe_policy(view: View, key: Key, _results: Results) -> TrafficPolicyView | None:
    policy = view.intent(TrafficPolicy, key)
    if policy is None or policy.deleting:
        return None
    found = observe_settings(view, policy)
    missing = [name for kind, target, section in found.targets if (name := missing_target(view, kind, target, section))]
    return replace(found, missing=tuple(missing))


def missing_target(view: View, kind: str, target: Key, section: str) -> str:
    """What does not exist of a target: the object, or its listener or rule of that name; empty when it is there."""
    obj: Any = view.intent(TARGET_KINDS[kind], target)
    if obj is None:
        return f"{kind} {target}"
    parts = obj.spec.listeners if kind in ("Gateway", "ListenerSet") else obj.spec.rules
    if section and all(part.name != section for part in parts):
        return f"{limits.shown(section)} in {kind} {target}"
    return ""


def _status(dependencies: Dependencies) -> Declaration:
    name, results_of = dependencies.options.controller_name, dependencies.policy_results.traffic

    def observe(view: View, policy: TrafficPolicy, _results: Results) -> SeenPolicy:
        published = (policy.status.ancestors if policy.status is not None else None) or ()
        results = view.entries(results_of, policy.key)
        targets = view.entry(dependencies.traffic_targets, policy.key) or NO_PROBLEMS
        selecting = bool(policy.spec and policy.spec.get("targetSelectors"))
        return SeenPolicy(name, published, results, targets, selecting, previous(view, policy, results, dependencies))

    return Controller(
        name="gateway-trafficpolicies",
        kind=TrafficPolicy,
        observe=observe,
        desire=nothing_desired,
        judge=judge,
        announce=announce,
        status=status_mode(name, CONDITIONS),
        reads=Reads(
            optional=(TrafficPolicy,), sources=(results_of, dependencies.programmed, dependencies.traffic_targets)
        ),
    )
