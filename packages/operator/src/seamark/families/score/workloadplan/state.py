"""What the status of a WorkloadPlan is judged from, and its condition."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.score import WorkloadPlan
from seamark_runtime.conditions import ConditionType

ACCEPTED = ConditionType(
    "Accepted",
    meaning="The runtime can read the values of the plan",
    reasons={
        "Accepted": "Every field has the form that this runtime renders",
        "InvalidValues": "A field of spec.resolvedValues can't be rendered: the previous configuration is kept",
    },
    summary=True,
)
CONDITIONS = (ACCEPTED,)


@dataclass(frozen=True)
class Seen:
    """A plan whose status is to be written; `unfit` is what is wrong with it, if anything is."""

    plan: WorkloadPlan
    unfit: str = ""
