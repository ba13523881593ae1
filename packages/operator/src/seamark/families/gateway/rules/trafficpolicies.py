"""TrafficPolicies, read one by one: their targets and their settings, or why they can't be used. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from seamark.api.kgateway import PolicySelector, Targets, TrafficPolicy, served
from seamark.families.gateway.model.policies import TrafficPolicyView
from seamark.families.gateway.rules.features.references import NO_REFERENCES, References
from seamark.families.gateway.rules.policyparts import parts_of
from seamark.families.gateway.rules.policyreferences import PolicyReferences
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported
from seamark.gatewayapi.references import invalid_reference
from seamark_runtime.api.gateway import GROUP, Gateway, GRPCRoute, HTTPRoute, ListenerSet
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.untrusted.patterns import Pattern
from seamark_runtime.view import View

TARGET_KINDS: dict[str, type[Object]] = {
    "Gateway": Gateway,
    "ListenerSet": ListenerSet,
    "HTTPRoute": HTTPRoute,
    "GRPCRoute": GRPCRoute,
}
MOST_TARGETS, MOST_LABELS = 16, 16
PROTECTING = {  # fields without which a route would be open, by their name in a spec
    **{"rateLimit": "rate_limit", "csrf": "csrf", "rbac": "rbac", "acl": "acl", "oauth2": "oauth2"},
    **{"extAuth": "ext_auth", "basicAuth": "basic_auth", "apiKeyAuth": "api_key_auth", "jwtAuth": "jwt_auth"},
}
UNKNOWN_FIELD = Pattern(r"Object contains unknown field `([^`]+)`(?: - at `\$\.?(.*)`)?")


def unusable_policy(view: View, key: Key) -> str:
    """Why a rule can't have this policy as an extension; empty when it can."""
    policy = view.intent(TrafficPolicy, key)
    if policy is None or policy.deleting:
        return f"TrafficPolicy {key.name} does not exist"
    problem = observe_settings(view, policy).problem
    return f"TrafficPolicy {key.name} can't be used: {problem}" if problem else ""


def observe_settings(view: View, policy: TrafficPolicy) -> TrafficPolicyView:
    """The policy with what its fields refer to, and the Services among that."""
    references = PolicyReferences(view, policy.metadata.namespace)
    found = read_policy(policy, references)
    return replace(found, backends=tuple(references.backends.items())) if not found.problem else found


def read_policy(policy: TrafficPolicy, references: References = NO_REFERENCES) -> TrafficPolicyView:
    """The policy with what its fields refer to: whether its targets exist is not checked."""
    spec = policy.spec or {}
    targets, problem = Targets(), ""
    try:
        targets = targets_of(spec)
        parts = parts_of(served(spec), references)
    except (msgspec.ValidationError, Unsupported) as error:
        parts, problem = {}, plain(str(error))
    named = []
    for number, target in enumerate(targets.target_refs or ()):
        if target.group != GROUP or target.kind not in TARGET_KINDS:
            problem = problem or f"targetRefs: a {limits.shown(target.kind)} can't have a TrafficPolicy"
        elif invalid := invalid_reference(f"targetRefs[{number}]", target.name):
            problem = problem or invalid
        else:
            problem = problem or only_for_http_routes(spec, target.kind, f"targetRefs[{number}]")
            named.append((target.kind, Key(policy.metadata.namespace, target.name), target.section_name or ""))
    for number, selecting in enumerate(targets.target_selectors or ()):
        problem = problem or only_for_http_routes(spec, selecting.kind, f"targetSelectors[{number}]")
    return TrafficPolicyView(
        key=policy.key,
        created=policy.metadata.creation_timestamp or "",
        targets=tuple(named),
        selectors=tuple(map(selector, targets.target_selectors or ())),
        parts=tuple(parts.items()) if not problem else (),
        problem=problem,
        guards=guards(spec),
    )


def guards(spec: dict[str, Any]) -> frozenset[str]:
    """Those of its fields that protect. One that only switches a protection off (`disable`, `local: {}`) does not."""
    return frozenset(
        name
        for field, name in PROTECTING.items()
        if (given := spec.get(field)) is not None and not switched_off(field, given)
    )


NOTHING_PROTECTED = {  # what a field has when it protects nothing, besides `disable` alone
    "rateLimit": ({}, {"local": {}}),
    "csrf": ({"percentageEnabled": 0},),
}


def switched_off(field: str, given: object) -> bool:
    """Also what can't be read protects, unless it is clear that it was not meant to."""
    return given == {"disable": {}} or given in NOTHING_PROTECTED.get(field, ({},))


def targets_of(spec: dict[str, Any]) -> Targets:
    targets = msgspec.convert(spec, Targets)
    limits.at_most("targetRefs", targets.target_refs, MOST_TARGETS)
    limits.at_most("targetSelectors", targets.target_selectors, MOST_TARGETS)
    for number, selecting in enumerate(targets.target_selectors or ()):
        limits.at_most(f"targetSelectors[{number}].matchLabels", selecting.match_labels, MOST_LABELS)
    return targets


def only_for_http_routes(spec: dict[str, Any], kind: str, where: str) -> str:
    """What is wrong with a target of this kind; empty where it may have all fields of the policy."""
    for field in ("urlRewrite", "autoHostRewrite") if kind != "HTTPRoute" else ():
        if spec.get(field) is not None:
            return f"{field}: only HTTPRoutes can have it, but {where} is a {kind}"
    return ""


def selector(selecting: PolicySelector) -> tuple[str, tuple[tuple[str, str], ...], str]:
    return selecting.kind, tuple(sorted(selecting.match_labels.items())), selecting.section_name or ""


def plain(error: str) -> str:
    """The validator's message, with the field by its own name."""
    found = UNKNOWN_FIELD.fullmatch(error)
    if found:
        where = f"{found[2]}." if found[2] else ""
        return f"The field {where}{found[1]} is not supported"
    return error.replace("$.", "")
