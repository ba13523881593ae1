"""The wiring of the mirror."""

from __future__ import annotations

from seamark.api.score import Workload, WorkloadExposure
from seamark.core.calls import Results
from seamark.core.controller import Controller
from seamark.core.status import ByManager
from seamark.core.view import View
from seamark.families.score.mirror.answer import missing
from seamark.families.score.mirror.reconcile import announce, desire, judge
from seamark.families.score.mirror.state import Seen
from seamark.families.score.words import RUNTIME_READY

MANAGER = "score-mirror"
SPACING = 0.2  # seconds between two looks at one Workload: a runtime that flaps costs five writes a second at the most


def observe(view: View, workload: Workload, _results: Results) -> Seen | None:
    if workload.deleting:
        return None
    exposure = view.get(WorkloadExposure, workload.key)
    seen = Seen(workload, exposure)
    if seen.untouched and missing(workload, exposure):
        return None  # the first statement says so already
    return seen


def controller() -> Controller[Seen]:
    return Controller(
        name="score-mirror",
        kind=Workload,
        reads=(WorkloadExposure,),
        observe=observe,
        desire=desire,
        judge=judge,
        announce=announce,
        status=ByManager(manager=MANAGER, conditions=(RUNTIME_READY,), fields=("endpoint",)),
        spacing=SPACING,
    )
