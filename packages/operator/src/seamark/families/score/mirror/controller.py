"""The wiring of the mirror."""

from __future__ import annotations

from seamark.api.score import PlatformConfig, Workload, WorkloadExposure
from seamark.families.score import selection
from seamark.families.score.config import KEY, Config, Configs
from seamark.families.score.mirror.answer import missing
from seamark.families.score.mirror.metrics import MirrorMetrics
from seamark.families.score.mirror.reconcile import announce, desire, judge
from seamark.families.score.mirror.state import Seen
from seamark.families.score.policy import NO_POLICY, EndpointPolicy
from seamark.families.score.words import RUNTIME_READY
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller
from seamark_runtime.events import Notice
from seamark_runtime.scope import Scope
from seamark_runtime.status import ByManager
from seamark_runtime.view import View

MANAGER = "score-mirror"
SPACING = 0.2  # seconds between two looks at one Workload: a runtime that flaps costs five writes a second at the most


def policy_of(workload: Workload, config: Config | None) -> EndpointPolicy:
    """The policy of the profile that the Workload has; none where it has none."""
    try:
        return selection.profile(workload, config).policy if config is not None else NO_POLICY
    except selection.NoChoice:
        return NO_POLICY


def controller(config_key: Key = KEY) -> Controller[Seen]:
    configs, metrics = Configs(config_key), MirrorMetrics()

    def observe(view: View, workload: Workload, _results: Results) -> Seen | None:
        if workload.deleting:
            metrics.forget(workload.uid)
            return None
        exposure = view.get(WorkloadExposure, workload.key)
        config = configs.seen(view)
        seen = Seen(workload, exposure, policy_of(workload, config))
        if seen.untouched and missing(workload, exposure):
            return None  # the default condition says that already
        return seen

    def told(seen: Seen, answers: Answers) -> list[Notice]:
        if not missing(seen.workload, seen.exposure):
            metrics.count(seen)
        return announce(seen, answers)

    return Controller(
        name="score-mirror",
        kind=Workload,
        manager=MANAGER,
        reads=(WorkloadExposure, PlatformConfig),
        scopes={PlatformConfig: Scope(config_key.namespace)},
        observe=observe,
        desire=desire,
        judge=judge,
        announce=told,
        collectors=metrics.collectors,
        status=ByManager(manager=MANAGER, conditions=(RUNTIME_READY,), fields=("endpoint",)),
        spacing=SPACING,
    )
