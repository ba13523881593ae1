"""TrafficPolicy: what it says, and what several of them come to for each rule behind each listener. Pure.

More exact goes first: an extension of the rule, the rule by name, the route, the listener, the gateway; on one level
the oldest. Each top-level field is taken from the first policy that has it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from seamark.api.kgateway import PolicySelector, Targets, TrafficPolicy, served
from seamark.families.gateway import limits
from seamark.families.gateway.limits import Unsupported
from seamark.families.gateway.policyparts import parts_of
from seamark.families.gateway.references import invalid
from seamark.families.gateway.shapes import Attached, GatewayView, ListenerId, Rule
from seamark.families.gateway.state import POLICY_ACCEPTED, POLICY_ATTACHED
from seamark.families.gateway.translate import Applied
from seamark_edge.dataplane import model
from seamark_runtime.api.gateway import GROUP, Gateway, GRPCRoute, HTTPRoute, ListenerSet
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.untrusted.patterns import Pattern
from seamark_runtime.view import View

KINDS: dict[str, type[Any]] = {
    "Gateway": Gateway,
    "ListenerSet": ListenerSet,
    "HTTPRoute": HTTPRoute,
    "GRPCRoute": GRPCRoute,
}
MOST_TARGETS, MOST_LABELS = 16, 16
UNKNOWN_FIELD = Pattern(r"Object contains unknown field `([^`]+)`(?: - at `\$\.?(.*)`)?")


@dataclass(frozen=True)
class TrafficView:
    """A policy as it is translated: made once per change of it."""

    key: Key
    created: str
    targets: tuple[tuple[str, Key, str], ...]  # kind, object, section
    selectors: tuple[tuple[str, tuple[tuple[str, str], ...], str], ...]  # kind, labels, section
    parts: tuple[tuple[str, Any], ...]  # what it says, by field
    trouble: str = ""
    missing: tuple[str, ...] = ()

    def __hash__(self) -> int:
        return hash(self.key)  # what it says can be long, and is hashed for every rule that it may hold for

    @property
    def age(self) -> tuple[str, str]:
        return (self.created, str(self.key))


def observe(view: View, key: Key) -> TrafficView | None:
    policy = view.intent(TrafficPolicy, key)
    if policy is None or policy.deleting:
        return None
    found = read(policy)
    missing = [f"{kind} {target}" for kind, target, _ in found.targets if view.intent(KINDS[kind], target) is None]
    return replace(found, missing=tuple(missing))


def unusable(view: View, key: Key) -> str:
    """Why a rule can't have this policy as an extension; empty when it can."""
    policy = view.intent(TrafficPolicy, key)
    if policy is None or policy.deleting:
        return f"TrafficPolicy {key.name} does not exist"
    trouble = read(policy).trouble
    return f"TrafficPolicy {key.name} can't be used: {trouble}" if trouble else ""


def read(policy: TrafficPolicy) -> TrafficView:
    """The policy by itself: whether its targets are there is not looked at."""
    spec = policy.spec or {}
    targets, trouble = Targets(), ""
    try:
        targets = targets_of(spec)
        parts = parts_of(served(spec))
    except (msgspec.ValidationError, Unsupported) as error:
        parts, trouble = {}, plain(str(error))
    named = []
    for number, one in enumerate(targets.target_refs or ()):
        if one.group != GROUP or one.kind not in KINDS:
            trouble = trouble or f"targetRefs: a {limits.shown(one.kind)} can't have a TrafficPolicy"
        elif words := invalid(f"targetRefs[{number}]", one.name):
            trouble = trouble or words
        else:
            named.append((one.kind, Key(policy.metadata.namespace, one.name), one.section_name or ""))
    return TrafficView(
        key=policy.key,
        created=policy.metadata.creation_timestamp or "",
        targets=tuple(named),
        selectors=tuple(selector(one) for one in targets.target_selectors or ()),
        parts=tuple(parts.items()) if not trouble else (),
        trouble=trouble,
    )


def targets_of(spec: dict[str, Any]) -> Targets:
    targets = msgspec.convert(spec, Targets)
    limits.at_most("targetRefs", targets.target_refs, MOST_TARGETS)
    limits.at_most("targetSelectors", targets.target_selectors, MOST_TARGETS)
    for number, one in enumerate(targets.target_selectors or ()):
        limits.at_most(f"targetSelectors[{number}].matchLabels", one.match_labels, MOST_LABELS)
    return targets


def selector(one: PolicySelector) -> tuple[str, tuple[tuple[str, str], ...], str]:
    return one.kind, tuple(sorted(one.match_labels.items())), one.section_name or ""


def plain(error: str) -> str:
    """The validator's words, with the field by its own name."""
    found = UNKNOWN_FIELD.fullmatch(error)
    if found:
        where = f"{found[2]}." if found[2] else ""
        return f"The field {where}{found[1]} is not supported"
    return error.replace("$.", "")


def report(seen: TrafficView) -> Mapping[Hashable, Any]:
    reports: dict[Hashable, Any] = {seen.key.namespace: seen}
    if seen.missing:
        reports[("missing", seen.key)] = seen.missing
    if seen.trouble and not seen.targets and not seen.selectors:
        reports[("invalid", seen.key)] = (seen.trouble,)  # there is no ancestor to say it of
    return reports


# ---- what they come to


@dataclass
class Tally:
    """How a policy fared at one gateway: which of its fields held somewhere, and whether others held beside them."""

    held: set[str] = field(default_factory=set)
    together: bool = False


Labels = tuple[tuple[str, str], ...]
Place = tuple[str, str, str, tuple[str, str] | None]  # kind, namespace, section, and the first label of a selector


class Table:
    """All policies that may concern a gateway, by what they are about: an object meets only those that name it, and
    those whose first label it has."""

    def __init__(self, policies: Iterable[TrafficView]) -> None:
        self._named: dict[tuple[str, Key, str], list[TrafficView]] = {}
        self._selecting: dict[Place, list[tuple[TrafficView, Labels]]] = {}
        self._by_key: dict[Key, TrafficView] = {}
        for policy in sorted(policies, key=lambda one: one.age):
            self._by_key[policy.key] = policy
            for target in policy.targets:
                self._named.setdefault(target, []).append(policy)
            for kind, labels, section in policy.selectors:
                place = (kind, policy.key.namespace, section, labels[0] if labels else None)
                self._selecting.setdefault(place, []).append((policy, labels))

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def extension(self, key: Key) -> TrafficView | None:
        return self._by_key.get(key)

    def usable(self, key: Key) -> bool:
        policy = self._by_key.get(key)
        return policy is not None and not policy.trouble

    def about(self, kind: str, key: Key, section: str, labels: Mapping[str, str]) -> list[TrafficView]:
        found = list(self._named.get((kind, key, section), ()))
        for label in (None, *labels.items()) if self._selecting else ():
            for policy, wanted in self._selecting.get((kind, key.namespace, section, label), ()):
                if all(labels.get(name) == value for name, value in wanted):
                    found.append(policy)
        return sorted(dict.fromkeys(found), key=lambda one: one.age)


Extras = dict[tuple[model.Origin, int, ListenerId], Applied]


def merged(
    gateway: GatewayView, attached: Iterable[Attached], table: Table
) -> tuple[Extras, dict[Key, tuple[Condition, ...]]]:
    """The effective policy of each rule behind each listener, and the verdict on each policy."""
    extras: Extras = {}
    tallies: dict[TrafficView, Tally] = {}
    attached = tuple(attached)
    if not table and not any(rule.extensions for one in attached for rule in one.route.rules):
        return extras, {}
    labels = dict(gateway.labels)
    for one in attached:
        own = dict(one.route.labels)
        key = Key(one.route.origin.namespace, one.route.origin.name)
        whole = table.about(one.route.origin.kind, key, "", own)
        for listener, _ in one.through:
            behind = [*at_listener(table, gateway, listener, labels), *table.about("Gateway", gateway.key, "", labels)]
            for number, rule in enumerate(one.route.rules):
                levels = [*at_rule(table, rule, one, own), *whole, *behind]
                unresolved = not all(map(table.usable, rule.extensions))
                if levels or unresolved:
                    extras[(one.route.origin, number, listener)] = applied(levels, tallies, unresolved=unresolved)
    for policy in table.about("Gateway", gateway.key, "", labels):
        tallies.setdefault(policy, Tally(set(dict(policy.parts))))  # without routes it holds all the same
    return extras, {policy.key: said(policy, tally) for policy, tally in tallies.items()}


def at_rule(table: Table, rule: Rule, one: Attached, labels: Mapping[str, str]) -> list[TrafficView]:
    found = [policy for key in rule.extensions if (policy := table.extension(key)) is not None]
    key = Key(one.route.origin.namespace, one.route.origin.name)
    return [*found, *(table.about(one.route.origin.kind, key, rule.name, labels) if rule.name else ())]


def at_listener(
    table: Table, gateway: GatewayView, listener: ListenerId, labels: Mapping[str, str]
) -> list[TrafficView]:
    if listener.kind == "Gateway":
        return table.about("Gateway", gateway.key, listener.name, labels)
    return [
        *table.about("ListenerSet", listener.key, listener.name, {}),
        *table.about("ListenerSet", listener.key, "", {}),
    ]


def applied(levels: list[TrafficView], tallies: dict[TrafficView, Tally], *, unresolved: bool = False) -> Applied:
    chosen: dict[str, Any] = {}
    givers: set[TrafficView] = set()
    for policy in dict.fromkeys(levels):
        tally = tallies.setdefault(policy, Tally())
        for name, value in policy.parts:
            if name not in chosen:
                chosen[name] = value
                tally.held.add(name)
                givers.add(policy)
    for policy in givers if len(givers) > 1 else ():
        tallies[policy].together = True
    request, response = chosen.get("header_modifiers", (model.NO_HEADERS, model.NO_HEADERS))
    timeout, idle = chosen.get("timeouts", (None, None))
    extras = model.Extras(chosen.get("cors"), chosen.get("rate_limit"), request, response)
    return Applied(extras, timeout, idle, chosen.get("retry"), unresolved)


def said(policy: TrafficView, tally: Tally) -> tuple[Condition, ...]:
    missing = f"; not found: {', '.join(policy.missing)}" if policy.missing else ""
    if policy.trouble:
        return (POLICY_ACCEPTED.false("Invalid", policy.trouble + missing),)
    accepted = POLICY_ACCEPTED.true("Valid", "Policy is accepted" + missing)
    fields = {name for name, _ in policy.parts}
    if fields and not tally.held:
        return accepted, POLICY_ATTACHED.false("Overridden", "Other policies say all that this one says")
    if tally.together or tally.held != fields:
        return accepted, POLICY_ATTACHED.true("Merged", "Policy is attached, and others with it")
    return accepted, POLICY_ATTACHED.true("Attached", "Policy is attached")
