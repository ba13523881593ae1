"""TrafficPolicy → the entries about it; its status is judged as that of every policy. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from seamark.families.gateway.model.policies import NO_PROBLEMS, PolicyTargets, TrafficPolicyView
from seamark.families.gateway.policies.status import announce, judge
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Answers

__all__ = ["announce", "judge", "report_policy", "report_targets"]


def report_policy(seen: TrafficPolicyView, _answers: Answers) -> Mapping[str, TrafficPolicyView]:
    """By namespace: all of its targets are there."""
    return {seen.key.namespace: seen}


def report_targets(seen: TrafficPolicyView, _answers: Answers) -> Mapping[Key, PolicyTargets]:
    """A policy without any target has no ancestor either: its problem is reported by an event."""
    unreported = seen.problem and not seen.targets and not seen.selectors
    targets = PolicyTargets(seen.missing, (seen.problem,) if unreported else ())
    return {seen.key: targets} if targets != NO_PROBLEMS else {}
