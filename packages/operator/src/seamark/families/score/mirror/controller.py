"""The controller of the mirror: what it observes, and its declaration."""

from __future__ import annotations

from functools import partial

from seamark.api.score import PlatformConfig, Workload, WorkloadExposure
from seamark.families.score.mirror.memory import MirrorMemory
from seamark.families.score.mirror.metrics import MirrorMetrics
from seamark.families.score.mirror.reconcile import announce, desire, judge
from seamark.families.score.mirror.state import Seen
from seamark.families.score.model.conditions import RUNTIME_READY
from seamark.families.score.model.dependencies import Dependencies
from seamark.families.score.platform import selection
from seamark.families.score.platform.configuration import Config
from seamark.families.score.platform.memory import ConfigurationMemory
from seamark.families.score.platform.policy import NO_POLICY, EndpointPolicy
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Reads, Timing, Writes
from seamark_runtime.scope import Scope
from seamark_runtime.status import ByManager
from seamark_runtime.view import View

MANAGER = "score-mirror"
LINGER = 5.0  # seconds for which the first statement waits for the runtime's answer
SPACING = 0.2  # seconds between two reconciles of a Workload: a runtime that flaps costs at most five writes a second


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    metrics = MirrorMetrics()
    namespace = dependencies.options.config_key.namespace
    return (
        Controller(
            name="score-mirror",
            kind=Workload,
            observe=partial(observe, dependencies.configuration),
            desire=desire,
            judge=judge,
            announce=announce,
            memory=MirrorMemory(dependencies.configuration, metrics),
            collectors=metrics.collectors,
            status=ByManager(manager=MANAGER, conditions=(RUNTIME_READY,), fields=("endpoint",)),
            reads=Reads(kinds=(WorkloadExposure, PlatformConfig), scopes={PlatformConfig: Scope(namespace)}),
            writes=Writes(manager=MANAGER),
            timing=Timing(spacing=SPACING, linger=LINGER),
        ),
    )


def observe(configuration: ConfigurationMemory, view: View, workload: Workload, _results: Results) -> Seen | None:
    if workload.deleting:
        return None
    exposure = view.get(WorkloadExposure, workload.key)
    seen = Seen(workload, exposure, policy_of(workload, configuration.in_force.config))
    if seen.untouched and not seen.requested:
        return None  # the default condition of the API server is right
    return seen


def policy_of(workload: Workload, config: Config | None) -> EndpointPolicy:
    """The policy of the profile that the Workload has; none where it has none."""
    try:
        return selection.profile(workload, config).policy if config is not None else NO_POLICY
    except selection.NoChoice:
        return NO_POLICY
