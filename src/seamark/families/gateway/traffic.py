"""TrafficPolicy: what it says, and what several of them come to for each rule behind each listener. Pure.

More exact goes first: an extension of the rule, the rule by name, the route, the listener, the gateway; on one level
the oldest. Each top-level field is taken from the first policy that has it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from seamark.api.gateway import GROUP, Gateway, GRPCRoute, HTTPRoute, ListenerSet
from seamark.api.kgateway import PolicyHeaderChange, PolicySelector, Targets, TrafficPolicy, TrafficPolicySpec, served
from seamark.api.meta import Condition, Key
from seamark.core.view import View
from seamark.families.gateway.durations import seconds
from seamark.families.gateway.shapes import Attached, GatewayView, ListenerId, Rule
from seamark.families.gateway.state import POLICY_ACCEPTED, POLICY_ATTACHED
from seamark.families.gateway.translate import Applied
from seamark.providers.dataplane import model

KINDS: dict[str, type[Any]] = {
    "Gateway": Gateway,
    "ListenerSet": ListenerSet,
    "HTTPRoute": HTTPRoute,
    "GRPCRoute": GRPCRoute,
}
LEAST_FILL = 0.05
FIELDS = ("timeouts", "retry", "header_modifiers", "rate_limit", "cors")


class Wrong(Exception):
    """What a policy says that can't be served, in words."""


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

    @property
    def age(self) -> tuple[str, str]:
        return (self.created, str(self.key))


def observe(view: View, key: Key) -> TrafficView | None:
    policy = view.intent(TrafficPolicy, key)
    if policy is None or policy.deleting:
        return None
    spec = policy.spec or {}
    targets, trouble = Targets(), ""
    try:
        targets = msgspec.convert(spec, Targets)
        parts = parts_of(served(spec))
    except (msgspec.ValidationError, Wrong) as error:
        parts, trouble = {}, plain(str(error))
    named, missing = [], []
    for one in targets.target_refs or ():
        kind = KINDS.get(one.kind) if one.group == GROUP else None
        if kind is None:
            trouble = trouble or f"targetRefs: a {one.kind} can't have a TrafficPolicy"
            continue
        target = Key(key.namespace, one.name)
        if view.intent(kind, target) is None:
            missing.append(f"{one.kind} {target}")
        named.append((one.kind, target, one.section_name or ""))
    return TrafficView(
        key=key,
        created=policy.metadata.creation_timestamp or "",
        targets=tuple(named),
        selectors=tuple(selector(one) for one in targets.target_selectors or ()),
        parts=tuple(parts.items()) if not trouble else (),
        trouble=trouble,
        missing=tuple(missing),
    )


def selector(one: PolicySelector) -> tuple[str, tuple[tuple[str, str], ...], str]:
    return one.kind, tuple(sorted(one.match_labels.items())), one.section_name or ""


def plain(error: str) -> str:
    """The validator's words, with the field by its own name."""
    found = re.fullmatch(r"Object contains unknown field `(\w+)`(?: - at `\$\.?(.*)`)?", error)
    if found:
        where = f"{found[2]}." if found[2] else ""
        return f"The field {where}{found[1]} is not supported"
    return error.replace("$.", "")


def report(seen: TrafficView) -> Mapping[Hashable, Any]:
    reports: dict[Hashable, Any] = {seen.key.namespace: seen}
    if seen.missing:
        reports[("missing", seen.key)] = seen.missing
    return reports


# ---- what a policy says


def parts_of(spec: TrafficPolicySpec) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    request = None
    if spec.timeouts is not None:
        request = span("timeouts.request", spec.timeouts.request)
        parts["timeouts"] = (request, span("timeouts.streamIdle", spec.timeouts.stream_idle))
    if spec.retry is not None:
        per_try = span("retry.perTryTimeout", spec.retry.per_try_timeout)
        if per_try and request and per_try >= request:
            raise Wrong("retry.perTryTimeout must be less than timeouts.request")
        parts["retry"] = model.Retry(
            attempts=spec.retry.attempts,
            codes=spec.retry.status_codes or (),
            on=(*(spec.retry.retry_on or ()), *(("retriable-status-codes",) if spec.retry.status_codes else ())),
            per_try=per_try,
            backoff=span("retry.backoffBaseInterval", spec.retry.backoff_base_interval),
        )
    if spec.header_modifiers is not None:
        parts["header_modifiers"] = (headers(spec.header_modifiers.request), headers(spec.header_modifiers.response))
    if spec.rate_limit is not None and spec.rate_limit.local is not None:
        parts["rate_limit"] = rate(spec)
    if spec.cors is not None:
        parts["cors"] = cors(spec)
    return parts


def span(name: str, text: str | None) -> float | None:
    if text is None:
        return None
    found = seconds(text)
    if found is None:
        raise Wrong(f"{name}: {text!r} is no duration; write it as in 10s or 500ms")
    return found


def headers(one: PolicyHeaderChange | None) -> model.Headers:
    if one is None:
        return model.NO_HEADERS
    return model.Headers(
        set=tuple((each.name, each.value) for each in one.set or ()),
        add=tuple((each.name, each.value) for each in one.add or ()),
        remove=one.remove or (),
    )


def rate(spec: TrafficPolicySpec) -> model.RateLimit | None:
    assert spec.rate_limit is not None
    assert spec.rate_limit.local is not None
    bucket = spec.rate_limit.local.token_bucket
    if bucket is None:
        return None  # said in so many words: no limit here
    interval = span("rateLimit.local.tokenBucket.fillInterval", bucket.fill_interval) or 0.0
    if interval < LEAST_FILL:
        raise Wrong("rateLimit.local.tokenBucket.fillInterval must be 50ms or more")
    return model.RateLimit(bucket.max_tokens, bucket.tokens_per_fill, interval)


def cors(spec: TrafficPolicySpec) -> model.Cors | None:
    one = spec.cors
    assert one is not None
    if one.disable is not None:
        return None
    return model.Cors(
        origins=one.allow_origins or (),
        methods=one.allow_methods or (),
        headers=one.allow_headers or (),
        expose=one.expose_headers or (),
        credentials=bool(one.allow_credentials),
        max_age=one.max_age,
    )


# ---- what they come to


@dataclass
class Tally:
    """How a policy fared at one gateway: which of its fields held somewhere, and whether others held beside them."""

    held: set[str] = field(default_factory=set)
    together: bool = False


class Table:
    """All policies that may concern a gateway, by what they are about."""

    def __init__(self, policies: Iterable[TrafficView]) -> None:
        self._named: dict[tuple[str, Key, str], list[TrafficView]] = {}
        self._selecting: dict[tuple[str, str], list[tuple[TrafficView, tuple[tuple[str, str], ...], str]]] = {}
        self._by_key: dict[Key, TrafficView] = {}
        for policy in sorted(policies, key=lambda one: one.age):
            self._by_key[policy.key] = policy
            for target in policy.targets:
                self._named.setdefault(target, []).append(policy)
            for kind, labels, section in policy.selectors:
                place = (kind, policy.key.namespace)
                self._selecting.setdefault(place, []).append((policy, labels, section))

    def __bool__(self) -> bool:
        return bool(self._by_key)

    def extension(self, key: Key) -> TrafficView | None:
        return self._by_key.get(key)

    def about(self, kind: str, key: Key, section: str, labels: Mapping[str, str]) -> list[TrafficView]:
        found = list(self._named.get((kind, key, section), ()))
        for policy, wanted, where in self._selecting.get((kind, key.namespace), ()):
            if where == section and all(labels.get(name) == value for name, value in wanted):
                found.append(policy)
        return sorted(dict.fromkeys(found), key=lambda one: one.age)


Extras = dict[tuple[model.Origin, int, ListenerId], Applied]


def merged(
    gateway: GatewayView, attached: Iterable[Attached], table: Table
) -> tuple[Extras, dict[Key, tuple[Condition, ...]]]:
    """What holds for each rule behind each listener, and what is said of each policy that meets one."""
    extras: Extras = {}
    tallies: dict[TrafficView, Tally] = {}
    if not table:
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
                if levels:
                    extras[(one.route.origin, number, listener)] = applied(levels, tallies)
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


def applied(levels: list[TrafficView], tallies: dict[TrafficView, Tally]) -> Applied:
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
    return Applied(extras, timeout, idle, chosen.get("retry"))


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
