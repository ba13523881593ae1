"""The status of a policy: one entry for each gateway where it has an effect. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from seamark.families.gateway.policies.state import MOST_ANCESTORS, POLICY_ACCEPTED, SeenPolicy
from seamark_runtime.api.gatewayshared import GROUP, AncestorStatus, ParentReference, PolicyStatus
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.apply import Answers
from seamark_runtime.conditions import FALSE, TRUE, ConditionType
from seamark_runtime.events import Notice
from seamark_runtime.status import ByEntry, Entries

Results = Mapping[Key, tuple[Condition, ...]]  # by gateway


def judge(seen: SeenPolicy, _answers: Answers) -> PolicyStatus:
    entries = [
        AncestorStatus(
            ancestor_ref=ParentReference(group=GROUP, kind="Gateway", namespace=gateway.namespace, name=gateway.name),
            controller_name=seen.controller_name,
            conditions=(seen.previous[gateway],) if gateway in seen.previous else conditions,
        )
        for gateway, conditions in sorted(seen.results.items())
    ]
    return PolicyStatus(ancestors=tuple(entries[: seen.room]))


def previous_refusals(policy: Any, controller_name: str, results: Results) -> dict[Key, Condition]:
    """Where the policy is valid now, and our entry of this generation in its status is False: as settings can be
    checked without the data plane, that had refused it. Until it has answered again, the condition stays."""
    published = {
        Key(entry.ancestor_ref.namespace or "", entry.ancestor_ref.name): condition
        for entry in (policy.status.ancestors if policy.status is not None else None) or ()
        if entry.controller_name == controller_name
        for condition in entry.conditions
        if (condition.type, condition.status, condition.reason) == (POLICY_ACCEPTED.name, FALSE, "Invalid")
        and condition.observed_generation == policy.metadata.generation
    }
    return {
        gateway: POLICY_ACCEPTED.false(condition.reason, condition.message)
        for gateway, condition in published.items()
        if gateway in results and results[gateway][0].status == TRUE
    }


def announce(seen: SeenPolicy, _answers: Answers) -> Iterable[Notice]:
    for problem in seen.targets.invalid:
        yield Notice("Invalid", problem)
    for name in seen.targets.missing:
        yield Notice("TargetNotFound", f"{name} does not exist")
    if seen.selecting and not seen.results:
        yield Notice("TargetNotFound", "Its selectors match nothing that is served here")
    hidden = len(seen.results) - seen.room
    if hidden > 0:
        message = f"The status holds {MOST_ANCESTORS} ancestors, other controllers' among them"
        yield Notice("StatusFull", f"{message}; {hidden} gateways are not shown")


def status_mode(controller_name: str, conditions: tuple[ConditionType, ...]) -> ByEntry:
    return ByEntry(
        entries=Entries("ancestors", identity=lambda entry: entry.ancestor_ref),
        ours=lambda entry: entry.controller_name == controller_name,
        policy_condition=f"one.controllerName == '{controller_name}'",
        conditions=conditions,
    )
