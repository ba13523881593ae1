"""Workload → its claims and its plan, and their conditions. No client, no clock.

- What is impossible is reported at once. Until it is corrected, the previous plan stays.
- A claim whose parameters need another's outputs is made when those are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from seamark.api.score import (
    ClaimSummary,
    Dependency,
    PlanClaim,
    PlanTemplate,
    ResourceClaim,
    ResourceClaimSpec,
    Workload,
    WorkloadPlan,
    WorkloadPlanSpec,
    WorkloadRef,
    WorkloadStatus,
)
from seamark.families.score import selection
from seamark.families.score.config import Backend, Config
from seamark.families.score.orchestrator.resolve import Waiting, Wrong, cycle, expanded_size, plain_values
from seamark.families.score.orchestrator.state import PLAN, POLICY, Seen, claim_name, claim_role
from seamark.families.score.orchestrator.values import check_shape, values
from seamark.families.score.placeholders import TooMany, check_amount
from seamark.families.score.words import CLAIMS_READY, INPUTS_VALID, READY, RUNTIME_READY
from seamark_runtime.api.meta import Condition, Object, ObjectMeta
from seamark_runtime.apply import Answers
from seamark_runtime.conditions import LONGEST_MESSAGE
from seamark_runtime.controller import Wanted
from seamark_runtime.redaction import redact

MOST_CHARACTERS = 1_000_000  # of all expanded texts of a Workload: its plan has to fit into one object of the API


@dataclass(frozen=True)
class Verdict:
    """What was made of the inputs: a backend and a plan, or why not."""

    backend: Backend | None = None
    plan: WorkloadPlan | None = None
    wrong: str = ""
    waiting: str = ""


def examine(seen: Seen) -> Verdict:
    if seen.config is None:
        return Verdict(waiting=f"The platform's configuration can't be used: {seen.trouble}")
    try:
        backend = selection.backend(seen.workload, selection.profile(seen.workload, seen.config))
        check(seen, seen.config)
        return Verdict(backend, plan(seen, backend))
    except (Wrong, selection.NoChoice) as error:
        return Verdict(wrong=str(error))
    except Waiting as waiting:
        return Verdict(backend, waiting=f"The resource {waiting} is not there yet")


def check(seen: Seen, config: Config) -> None:
    """Everything that can be known to be wrong before a claim is bound."""
    check_shape(seen.workload)
    try:
        check_amount([value for _, value in expanded(seen.workload)])
    except TooMany as error:
        raise Wrong(f"spec: the Workload has {error}") from None
    resources = seen.workload.spec.resources or {}
    for key, one in sorted(resources.items()):
        if config.provisioner(one.type, one.class_) is None:
            there = ", ".join(sorted({each.type for each in config.provisioners}))
            of_class = f" of class {one.class_!r}" if one.class_ else ""
            raise Wrong(f"resources.{key}.type: nobody provisions {one.type!r}{of_class}; there are {there}")
    if circle := cycle({key: one.params for key, one in resources.items()}):
        raise Wrong(f"resources: {' → '.join(circle)} refer to each other in a circle")
    size = 0
    for where, value in expanded(seen.workload):
        size += expanded_size(value, seen, where)
        if size > MOST_CHARACTERS:
            limit = f"more than {MOST_CHARACTERS} characters"
            raise Wrong(
                f"{where}: with its placeholders replaced, the Workload has {limit} of text; use shorter values"
            )


def expanded(workload: Workload) -> Iterator[tuple[str, Any]]:
    """Everything of a Workload in which placeholders are replaced, with its place."""
    for key, one in sorted((workload.spec.resources or {}).items()):
        yield f"resources.{key}.params", one.params
    for name, container in sorted(workload.spec.containers.items()):
        where = f"containers.{name}"
        for variable, text in sorted((container.variables or {}).items()):
            yield f"{where}.variables.{variable}", text
        for number, file in enumerate(container.files):
            if not file.no_expand:
                yield f"{where}.files[{number}].content", file.content
        for number, volume in enumerate(container.volumes):
            yield f"{where}.volumes[{number}].source", volume.source


# ---- what is wanted


def desire(seen: Seen) -> Wanted:
    verdict = examine(seen)
    children: dict[str, Object] = {}
    for key, one in sorted((seen.workload.spec.resources or {}).items()):
        if (claim := wanted_claim(seen, key, one, verdict)) is not None:
            children[claim_role(key)] = claim
    for key, claim in sorted(seen.claims.items()):
        if key not in seen.resources and claim.spec.deprovision_policy == "Orphan":
            children[claim_role(key)] = as_it_is(claim)
    if (planned := wanted_plan(seen, verdict)) is not None:
        children[PLAN] = planned
    return Wanted(children=children)


def wanted_plan(seen: Seen, verdict: Verdict) -> WorkloadPlan | None:
    if seen.plan is None:
        return verdict.plan
    if seen.plan.spec.workload_ref.uid != seen.workload.uid:
        return None  # of a former Workload of this name; Kubernetes deletes it, and then ours can be created
    planned: WorkloadPlan = verdict.plan or as_it_is(seen.plan)
    return planned


def as_it_is(child: Any) -> Any:
    """Wanted unchanged, so that it is neither changed nor pruned."""
    metadata = ObjectMeta(name=child.metadata.name, namespace=child.metadata.namespace)
    return type(child)(metadata=metadata, spec=child.spec)


def wanted_claim(seen: Seen, key: str, one: Dependency, verdict: Verdict) -> ResourceClaim | None:
    existing = seen.claims.get(key)
    kept = as_it_is(existing) if existing is not None else None
    if seen.config is None or verdict.wrong:
        return kept
    try:
        params = plain_values(one.params, seen, f"resources.{key}.params") if one.params is not None else None
    except (Wrong, Waiting):
        return kept
    provisioner = seen.config.provisioner(one.type, one.class_)
    annotations = (one.metadata.annotations if one.metadata else None) or {}
    policy: Any = annotations.get(POLICY) or (provisioner.deprovision_policy if provisioner else "Delete")
    metadata = seen.workload.metadata
    return ResourceClaim(
        metadata=ObjectMeta(name=claim_name(seen.workload, key), namespace=metadata.namespace),
        spec=ResourceClaimSpec(
            workload_ref=reference(seen),
            key=key,
            type=one.type,
            class_=one.class_,
            id=one.id,
            params=params,
            deprovision_policy=policy,
        ),
    )


def reference(seen: Seen) -> WorkloadRef:
    metadata = seen.workload.metadata
    return WorkloadRef(name=metadata.name, namespace=metadata.namespace, uid=metadata.uid)


def plan(seen: Seen, backend: Backend) -> WorkloadPlan:
    """Only when all it needs is there: a runtime never sees half of a Workload."""
    for key in sorted(seen.resources):
        if key not in seen.outputs:
            raise Waiting(key)
    metadata = seen.workload.metadata
    template = backend.template
    claims = tuple(
        PlanClaim(key=key, type=one.type, class_=one.class_)
        for key, one in sorted((seen.workload.spec.resources or {}).items())
    )
    return WorkloadPlan(
        metadata=ObjectMeta(name=metadata.name, namespace=metadata.namespace),
        spec=WorkloadPlanSpec(
            workload_ref=reference(seen),
            observed_workload_generation=metadata.generation,
            runtime_class=backend.runtime_class,
            template=PlanTemplate(kind=template.kind, ref=template.ref, values=template.values or None),
            resolved_values=values(seen),
            claims=claims or None,
        ),
    )


# ---- conditions


def judge(seen: Seen, answers: Answers) -> WorkloadStatus:
    verdict = examine(seen)
    claims = tuple(summary(seen, answers, key) for key in sorted(seen.resources))
    inputs, claimed = inputs_valid(verdict, answers), claims_ready(claims)
    ready = READY.worst_of(
        inputs, claimed, runtime_ready(seen), otherwise=("Succeeded", "The runtime runs it as it is written")
    )
    return WorkloadStatus(conditions=(ready, inputs, claimed), claims=claims or None)


def inputs_valid(verdict: Verdict, answers: Answers) -> Condition:
    if verdict.wrong:
        return INPUTS_VALID.false("SpecInvalid", verdict.wrong)
    if verdict.backend is None:
        return INPUTS_VALID.unknown("RuntimeSelecting", verdict.waiting)
    if refusal := answers.refusal(PLAN):
        return INPUTS_VALID.false("ProjectionError", refusal.message)
    return INPUTS_VALID.true("Succeeded", f"It is for the runtime {verdict.backend.runtime_class}")


def summary(seen: Seen, answers: Answers, key: str) -> ClaimSummary:
    if refusal := answers.refusal(claim_role(key)):
        return ClaimSummary(
            key=key, phase="Failed", reason="ClaimFailed", message=redact(refusal.message, LONGEST_MESSAGE)
        )
    claim = seen.claims.get(key)
    status = claim.status if claim is not None else None
    if claim is None or status is None or status.observed_generation != claim.metadata.generation:
        return ClaimSummary(
            key=key, phase="Pending", reason="ClaimPending", message="Nobody has answered the claim yet"
        )
    return ClaimSummary(
        key=key,
        phase=status.phase or "Pending",
        reason=status.reason,
        message=status.message,
        outputs_available=status.outputs_available,
    )


def claims_ready(claims: tuple[ClaimSummary, ...]) -> Condition:
    for phase, reason in (("Failed", "ClaimFailed"), ("Pending", "ClaimPending"), ("Claiming", "Claiming")):
        found = [one for one in claims if one.phase == phase]
        if found:
            words = "; ".join(f"{one.key}: {one.message}" for one in found)
            say = CLAIMS_READY.unknown if phase == "Pending" else CLAIMS_READY.false  # no answer is no evidence
            return say(reason, words)
    return CLAIMS_READY.true("Succeeded", "All claims are bound" if claims else "Nothing is claimed")


def runtime_ready(seen: Seen) -> Condition:
    """The mirror's condition, if it is about this generation. Until then a first status can wait for a moment."""
    status = seen.workload.status
    for condition in status.conditions if status else ():
        if condition.type == RUNTIME_READY.name and condition.observed_generation == seen.workload.metadata.generation:
            return msgspec.structs.replace(condition)
    return RUNTIME_READY.not_yet("RuntimeProvisioning", "The runtime has not answered for this generation yet")
