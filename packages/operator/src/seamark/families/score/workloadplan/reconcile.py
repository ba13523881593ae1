"""The status of a WorkloadPlan: only that this runtime can't read its values, or can again.

An orchestrator writes plans that can be read; about those nothing is written. How they run is shown on the exposure.
"""

from __future__ import annotations

from seamark.api.score import WorkloadPlanStatus
from seamark.families.score.workloadplan.state import ACCEPTED, Seen
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted


def desire(_seen: Seen) -> Wanted:
    return Wanted()


def judge(seen: Seen, _answers: Answers) -> WorkloadPlanStatus:
    if seen.unfit:
        accepted = ACCEPTED.false("InvalidValues", seen.unfit)
    else:
        accepted = ACCEPTED.true("Accepted", "The values of the plan can be rendered")
    return WorkloadPlanStatus(conditions=(accepted,))
