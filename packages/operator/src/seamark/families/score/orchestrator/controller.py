"""The controller of the orchestrator: what it observes, and its declaration."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from seamark.api.score import PlatformConfig, ResourceClaim, Workload, WorkloadPlan
from seamark.families.score.model.conditions import CLAIMS_READY, INPUTS_VALID, READY
from seamark.families.score.model.dependencies import Dependencies
from seamark.families.score.model.identity import identity
from seamark.families.score.model.ownership import ORPHAN, ByUid
from seamark.families.score.orchestrator.reconcile import desire, judge
from seamark.families.score.orchestrator.sharing import SHARERS, sharers
from seamark.families.score.orchestrator.state import CLAIMS, Outputs, Seen, Sharer, claim_name
from seamark_runtime.api.core import ConfigMap, Secret
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Reads, Timing, Writes
from seamark_runtime.ownership import within
from seamark_runtime.source import Fresh
from seamark_runtime.status import ByManager
from seamark_runtime.view import View

MANAGER = "score-orchestrator"
LINGER = 5.0  # seconds for which a first status waits for the mirror: with a quick runtime it is one write, not two


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
                indexes=(CLAIMS, SHARERS),
            ),
            writes=Writes(manager=MANAGER, children=(ResourceClaim, WorkloadPlan), ownership=OWNERSHIP),
            timing=Timing(linger=LINGER),
        ),
    )


def observe(dependencies: Dependencies, view: View, workload: Workload, _results: Results) -> Seen | None:
    if workload.deleting:
        return None  # claims and plan are deleted with it, by their owner references
    in_force = dependencies.configuration.in_force
    claims = {claim.spec.key: claim for claim in view.by(CLAIMS, within(workload, workload.uid))}
    found = ((key, outputs_of(view, claim)) for key, claim in claims.items())
    plan = view.intent(WorkloadPlan, workload.key)
    return Seen(
        workload=workload,
        config=in_force.config,
        trouble=in_force.trouble,
        plan=plan,
        left_behind=plan is not None and OWNERSHIP.left_behind(workload, plan),
        claims=claims,
        sharing=sharing(view, workload),
        outputs={key: outputs for key, outputs in found if outputs is not None},
    )


def sharing(view: View, workload: Workload) -> dict[str, list[Sharer]]:
    """All definitions of the resources that have an id, with their claims."""
    found: dict[str, list[Sharer]] = {}
    for key, resource in (workload.spec.resources or {}).items():
        if (identified := identity(resource.type, resource.class_, resource.id)) is not None:
            definitions = sharers(view.by(SHARERS, (workload.metadata.namespace, identified)), resource)
            found[key] = [replace(each, claim=claim_of(view, each.workload, each.key)) for each in definitions]
    return found


def claim_of(view: View, workload: Workload, key: str) -> ResourceClaim | None:
    claim = view.intent(ResourceClaim, Key(workload.metadata.namespace, claim_name(workload, key)))
    return claim if claim is not None and claim.spec.workload_ref.uid == workload.uid else None


def outlives(_workload: Workload, child: object) -> bool:
    return isinstance(child, ResourceClaim) and child.spec.deprovision_policy == ORPHAN


OWNERSHIP = ByUid(outlives)


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
