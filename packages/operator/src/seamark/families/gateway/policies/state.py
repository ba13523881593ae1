"""The condition that all policies have, and what the status of a policy is judged from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seamark.families.gateway.model.policies import NO_PROBLEMS, PolicyTargets
from seamark_runtime.api.gatewayshared import AncestorStatus
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.conditions import ConditionType

MOST_ANCESTORS = 16  # in one status

POLICY_ACCEPTED = ConditionType(
    "Accepted",
    meaning="The policy applies to this ancestor",
    reasons={
        "Accepted": "It can be served",
        "Valid": "It can be served",
        "Invalid": "It has a setting that can't be served",
        "Conflicted": "An older policy sets the same fields for the same target",
        "TargetNotFound": "The port that it names does not exist, so it has no effect",
        "NoValidCACertificate": "None of its authorities can be used",
    },
)


@dataclass(frozen=True)
class SeenPolicy:
    """The entries about a policy, by gateway, and what its status holds already."""

    controller_name: str
    published: tuple[AncestorStatus, ...]  # of all controllers
    results: Mapping[Key, tuple[Condition, ...]]
    targets: PolicyTargets = NO_PROBLEMS
    selecting: bool = False  # it selects its targets by label
    previous: Mapping[Key, Condition] = field(default_factory=dict)  # Accepted=False before a restart, by gateway

    @property
    def room(self) -> int:
        """How many ancestors of ours fit into its status."""
        foreign = sum(entry.controller_name != self.controller_name for entry in self.published)
        return max(0, MOST_ANCESTORS - foreign)
