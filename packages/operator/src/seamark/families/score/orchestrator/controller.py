"""The controller of the orchestrator: what it observes, and its declaration."""

from __future__ import annotations

from functools import partial

from seamark.api.score import PlatformConfig, ResourceClaim, Workload, WorkloadPlan
from seamark.families.score.model.conditions import CLAIMS_READY, INPUTS_VALID, READY
from seamark.families.score.model.dependencies import Dependencies
from seamark.families.score.model.ownership import ByUid
from seamark.families.score.orchestrator.reconcile import desire, judge
from seamark.families.score.orchestrator.state import CLAIMS, Outputs, Seen
from seamark_runtime.api.core import ConfigMap, Secret
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Reads, Timing, Writes
from seamark_runtime.ownership import within
from seamark_runtime.source import Fresh
from seamark_runtime.status import ByManager
from seamark_runtime.view import View

MANAGER = "score-orchestrator"
LINGER = 10.0  # seconds for which a first status waits for the mirror: with a quick runtime it is one write, not two


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    return (
        Controller(
            name="score-orchestrator",
            kind=Workload,
            observe=partial(observe, dependencies),
            desire=desire,
            judge=judge,
            status=ByManager(manager=MANAGER, conditions=(READY, INPUTS_VALID, CLAIMS_READY), fields=("claims",)),
            memory=dependencies.configuration,
            reads=Reads(
                kinds=(PlatformConfig, ConfigMap),
                singles=(Secret,),
                scopes=dependencies.scopes,
                indexes=(CLAIMS,),
            ),
            writes=Writes(manager=MANAGER, children=(ResourceClaim, WorkloadPlan), ownership=ByUid(outlives)),
            timing=Timing(linger=LINGER),
        ),
    )


def observe(dependencies: Dependencies, view: View, workload: Workload, _results: Results) -> Seen | None:
    if workload.deleting:
        return None  # claims and plan are deleted with it, by their owner references
    in_force = dependencies.configuration.in_force
    claims = {claim.spec.key: claim for claim in view.by(CLAIMS, within(workload, workload.uid))}
    found = ((key, outputs_of(view, claim)) for key, claim in claims.items())
    return Seen(
        workload=workload,
        config=in_force.config,
        trouble=in_force.trouble,
        plan=view.intent(WorkloadPlan, workload.key),
        claims=claims,
        outputs={key: outputs for key, outputs in found if outputs is not None},
    )


def outlives(_workload: Workload, child: object) -> bool:
    return isinstance(child, ResourceClaim) and child.spec.deprovision_policy == "Orphan"


def outputs_of(view: View, claim: ResourceClaim) -> Outputs | None:
    """What a claim provides, if its current generation is bound and all that it refers to exists."""
    status = claim.status
    if status is None or status.phase != "Bound" or status.observed_generation != claim.metadata.generation:
        return None
    if claim.deleting or status.outputs is None:
        return None
    namespace, outputs = claim.metadata.namespace, status.outputs
    values = {name: value for name, value in (("uri", outputs.uri), ("image", outputs.image)) if value}
    if outputs.config_map_ref is not None:
        config_map = view.get(ConfigMap, Key(namespace, outputs.config_map_ref.name))
        if config_map is None:
            return None
        values |= config_map.data or {}
    if outputs.secret_ref is None:
        return Outputs(values)
    match view.single(Secret, Key(namespace, outputs.secret_ref.name)):
        case Fresh(secret):
            return Outputs(values, outputs.secret_ref.name, frozenset(secret.data or ()))
    return None
