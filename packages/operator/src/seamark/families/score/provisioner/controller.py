"""The controller of the provisioner: what it observes, and its declaration."""

from __future__ import annotations

from functools import partial

from seamark.api.score import PlatformConfig, ResourceClaim, Workload
from seamark.families.score.model.dependencies import Dependencies
from seamark.families.score.model.ownership import ORPHAN, RETAIN, ByUid
from seamark.families.score.platform.configuration import BY_TEMPLATE
from seamark.families.score.provisioner.reconcile import desire, judge
from seamark.families.score.provisioner.state import Given, PhaseStatus, Seen, given, outputs_key, shared_as
from seamark_runtime.api.core import ConfigMap, Secret
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Reads, Writes
from seamark_runtime.source import Absent
from seamark_runtime.view import View

MANAGER = "score-provisioner"


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    return (
        Controller(
            name="score-provisioner",
            kind=ResourceClaim,
            observe=partial(observe, dependencies),
            desire=desire,
            judge=judge,
            status=PhaseStatus(MANAGER),
            memory=dependencies.configuration,
            reads=Reads(kinds=(PlatformConfig, Workload, ConfigMap), singles=(Secret,), scopes=dependencies.scopes),
            writes=Writes(manager=MANAGER, children=(ConfigMap,), ownership=ByUid(outlives)),
        ),
    )


def outlives(claim: ResourceClaim, _child: object) -> bool:
    return claim.spec.deprovision_policy == RETAIN


def observe(dependencies: Dependencies, view: View, claim: ResourceClaim, _results: Results) -> Seen | None:
    config = dependencies.configuration.in_force.config
    if claim.deleting or config is None:
        return None
    provisioner = config.provisioner(claim.spec.type, claim.spec.class_)
    if provisioner is not None and provisioner.provisioner != BY_TEMPLATE:
        return None  # another provisioner provides it
    namespace = claim.metadata.namespace
    before = view.get(ConfigMap, outputs_key(claim))
    shared, domain = shared_as(claim, before), dependencies.options.domain
    if provisioner is None:
        lacking = config.without_provisioner(claim.spec.type, claim.spec.class_)
        provided = Given({}, missing=f"resources.{claim.spec.key}.type: {lacking}")
    else:
        provided = given(
            claim, provisioner, lambda name: living(view.intent(Workload, Key(namespace, name))), domain, shared
        )
    secret = view.single(Secret, Key(namespace, provided.secret)) if provided.secret else Absent()
    return Seen(claim, provisioner, provided, secret, before, shared, orphaned(view, claim))


def living(workload: Workload | None) -> Workload | None:
    return None if workload is None or workload.deleting else workload


def orphaned(view: View, claim: ResourceClaim) -> bool:
    if claim.spec.deprovision_policy != ORPHAN:
        return False
    ref = claim.spec.workload_ref
    workload = view.intent(Workload, Key(claim.metadata.namespace, ref.name))
    return workload is None or workload.uid != ref.uid or claim.spec.key not in (workload.spec.resources or {})
