"""WorkloadPlan → the objects that run it, and whether the API server took them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from seamark.families.score.model.runtime import Rendered
from seamark.families.score.rendering.render import render
from seamark.families.score.rendering.state import Seen
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Answers
from seamark_runtime.controller import Wanted


def desire(seen: Seen) -> Wanted:
    return Wanted(children=render(seen.plan, seen.values)) if seen.values is not None else Wanted()


def report(seen: Seen, answers: Answers) -> Mapping[Key, Rendered]:
    refused = {role: refusal.message for role, refusal in answers.refusals.items()}
    return {seen.plan.key: Rendered(seen.plan.spec.observed_workload_generation, refused)}
