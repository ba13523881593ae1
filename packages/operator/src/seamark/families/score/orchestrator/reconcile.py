"""Workload → its claims and its plan, and their conditions. No client, no clock.

- What is impossible is reported at once. Until it is corrected, the previous plan stays.
- A claim whose parameters need another's outputs is made when those are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
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
from seamark.families.score.model.conditions import CLAIMS_READY, INPUTS_VALID, READY, RUNTIME_READY
from seamark.families.score.model.ownership import ORPHAN
from seamark.families.score.orchestrator.placeholders import TooMany, check_amount, placed_texts, whole_resource
from seamark.families.score.orchestrator.policy import check_policy, policy
from seamark.families.score.orchestrator.resolve import Waiting, Wrong, cycle, expanded_size, plain_values
from seamark.families.score.orchestrator.sharing import check_shared, shared_metadata, shared_params
from seamark.families.score.orchestrator.state import PLAN, Seen, claim_name, claim_role
from seamark.families.score.orchestrator.values import check_shape, entry, values, volume
from seamark.families.score.platform import selection
from seamark.families.score.platform.configuration import Backend, Config
from seamark_runtime.api.meta import Condition, Object, ObjectMeta
from seamark_runtime.apply import Answers
from seamark_runtime.conditions import LONGEST_MESSAGE
from seamark_runtime.controller import Wanted
from seamark_runtime.redaction import redact

MOST_CHARACTERS = 1_000_000  # of all expanded texts of a Workload: its plan has to fit into one object of the API


@dataclass(frozen=True)
class Examined:
    """What was made of the inputs: a backend and a plan, or why not."""

    backend: Backend | None = None
    plan: WorkloadPlan | None = None
    wrong: str = ""
    waiting: str = ""


def examine(seen: Seen) -> Examined:
    if seen.config is None:
        return Examined(waiting=f"The platform's configuration can't be used: {seen.trouble}")
    try:
        backend = selection.backend(seen.workload, selection.profile(seen.workload, seen.config))
        check(seen)
        return Examined(backend, plan(seen, seen.config, backend))
    except (Wrong, selection.NoChoice) as error:
        return Examined(wrong=str(error))
    except Waiting as waiting:
        return Examined(backend, waiting=f"The resource {waiting} is not there yet")


def check(seen: Seen) -> None:
    """Everything that can be known to be wrong before a claim is bound."""
    check_shape(seen.workload)
    try:
        check_amount([value for _, value in expanded(seen.workload)])
    except TooMany as error:
        raise Wrong(f"spec: the Workload has {error}") from None
    resources = seen.workload.spec.resources or {}
    for key, resource in sorted(resources.items()):
        check_policy(resource, f"resources.{key}")
        check_shared(seen.workload, key, seen.sharing.get(key, ()))
    if circle := cycle({key: resource.params for key, resource in resources.items()}):
        raise Wrong(f"resources.{circle[0]}.params: there is a cycle of references: {' → '.join(circle)}")
    check_volumes(seen)
    size = 0
    for where, text in (placed for field, value in expanded(seen.workload) for placed in placed_texts(value, field)):
        size += expanded_size(text, seen, where)
        if size > MOST_CHARACTERS:
            limit = f"more than {MOST_CHARACTERS} characters"
            raise Wrong(
                f"{where}: with its placeholders replaced, the Workload has {limit} of text; use shorter values"
            )


def check_volumes(seen: Seen) -> None:
    """The sources of volumes, as far as they are known."""
    for name, container in sorted(seen.workload.spec.containers.items()):
        for number, mount in enumerate(container.volumes):
            with suppress(Waiting):
                volume(seen, mount.source, f"{entry(f'containers.{name}.volumes', number, mount.target)}.source")


def expanded(workload: Workload) -> Iterator[tuple[str, Any]]:
    """Everything of a Workload in which placeholders are replaced, with its place."""
    for key, resource in sorted((workload.spec.resources or {}).items()):
        yield f"resources.{key}.params", resource.params
    for name, container in sorted(workload.spec.containers.items()):
        where = f"containers.{name}"
        for variable, text in sorted((container.variables or {}).items()):
            yield f"{where}.variables.{variable}", text
        for number, file in enumerate(container.files):
            if not file.no_expand:
                yield f"{entry(f'{where}.files', number, file.target)}.content", file.content
        for number, mount in enumerate(container.volumes):
            if not whole_resource(mount.source):
                yield f"{entry(f'{where}.volumes', number, mount.target)}.source", mount.source


# ---- what is wanted


def desire(seen: Seen) -> Wanted:
    examined = examine(seen)
    children: dict[str, Object] = {}
    for key, resource in sorted((seen.workload.spec.resources or {}).items()):
        if (claim := wanted_claim(seen, key, resource, examined)) is not None:
            children[claim_role(key)] = claim
    for key, claim in sorted(seen.claims.items()):
        if key not in seen.resources and claim.spec.deprovision_policy == ORPHAN:
            children[claim_role(key)] = as_it_is(claim)
    if (planned := wanted_plan(seen, examined)) is not None:
        children[PLAN] = planned
    return Wanted(children=children)


def wanted_plan(seen: Seen, examined: Examined) -> WorkloadPlan | None:
    if seen.plan is None:
        return examined.plan
    if seen.plan.spec.workload_ref.uid != seen.workload.uid:
        return examined.plan if seen.left_behind else None  # else Kubernetes deletes it, then ours can be created
    planned: WorkloadPlan = examined.plan or as_it_is(seen.plan)
    return planned


def as_it_is(child: Any) -> Any:
    """Wanted unchanged, so that it is neither changed nor pruned."""
    metadata = ObjectMeta(name=child.metadata.name, namespace=child.metadata.namespace)
    return type(child)(metadata=metadata, spec=child.spec)


def wanted_claim(seen: Seen, key: str, resource: Dependency, examined: Examined) -> ResourceClaim | None:
    existing = seen.claims.get(key)
    kept = as_it_is(existing) if existing is not None else None
    if seen.config is None or examined.wrong:
        return kept
    try:
        spec = claim_spec(seen, seen.config, key, resource)
    except (Wrong, Waiting):
        return kept
    metadata = ObjectMeta(name=claim_name(seen.workload, key), namespace=seen.workload.metadata.namespace)
    return ResourceClaim(metadata=metadata, spec=spec)


def claim_spec(seen: Seen, config: Config, key: str, resource: Dependency) -> ResourceClaimSpec:
    return ResourceClaimSpec(
        workload_ref=reference(seen),
        key=key,
        type=resource.type,
        class_=resource.class_,
        id=resource.id,
        params=wanted_params(seen, key, resource),
        deprovision_policy=policy(shared_metadata(resource, seen.sharing.get(key, ())), config),
    )


def up_to_date(seen: Seen, config: Config, key: str, resource: Dependency) -> bool:
    """Whether the outputs are there, and of the present claim: what an earlier one gave is no fault of this file."""
    claim = seen.claims.get(key)
    return key in seen.outputs and claim is not None and claim.spec == claim_spec(seen, config, key, resource)


def wanted_params(seen: Seen, key: str, resource: Dependency) -> Any:
    if resource.params is not None:
        return plain_values(resource.params, seen, f"resources.{key}.params")
    return shared_params(seen.sharing.get(key, ()), key)


def reference(seen: Seen) -> WorkloadRef:
    metadata = seen.workload.metadata
    return WorkloadRef(name=metadata.name, namespace=metadata.namespace, uid=metadata.uid)


def plan(seen: Seen, config: Config, backend: Backend) -> WorkloadPlan:
    """Only when everything that it needs exists: a runtime never sees an incomplete Workload."""
    for key, resource in sorted(seen.resources.items()):
        if not up_to_date(seen, config, key, resource):
            raise Waiting(key)
    metadata = seen.workload.metadata
    template = backend.template
    claims = tuple(
        PlanClaim(key=key, type=resource.type, class_=resource.class_)
        for key, resource in sorted((seen.workload.spec.resources or {}).items())
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
    examined = examine(seen)
    claims = tuple(summary(seen, answers, key) for key in sorted(seen.resources))
    inputs, claimed = inputs_valid(examined, answers), claims_ready(claims)
    ready = READY.worst_of(
        inputs, claimed, runtime_ready(seen), otherwise=("Succeeded", "The runtime runs it as it is written")
    )
    return WorkloadStatus(conditions=(ready, inputs, claimed), claims=claims or None)


def inputs_valid(examined: Examined, answers: Answers) -> Condition:
    if examined.wrong:
        return INPUTS_VALID.false("SpecInvalid", examined.wrong)
    if examined.backend is None:
        return INPUTS_VALID.unknown("RuntimeSelecting", examined.waiting)
    if refusal := answers.refusal(PLAN):
        return INPUTS_VALID.false("ProjectionError", refusal.message)
    return INPUTS_VALID.true("Succeeded", f"It is for the runtime {examined.backend.runtime_class}")


def summary(seen: Seen, answers: Answers, key: str) -> ClaimSummary:
    if refusal := answers.refusal(claim_role(key)):
        return ClaimSummary(
            key=key, phase="Failed", reason="ClaimFailed", message=redact(refusal.message, LONGEST_MESSAGE)
        )
    claim = seen.claims.get(key)
    status = claim.status if claim is not None else None
    if claim is None or status is None or status.observed_generation != claim.metadata.generation:
        return ClaimSummary(
            key=key, phase="Pending", reason="ClaimPending", message="No provisioner has answered the claim yet"
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
        found = [claim for claim in claims if claim.phase == phase]
        if found:
            message = "; ".join(map(message_of, found))
            make = CLAIMS_READY.unknown if phase == "Pending" else CLAIMS_READY.false  # no answer is no evidence
            return make(reason, message)
    return CLAIMS_READY.true("Succeeded", "All claims are bound" if claims else "Nothing is claimed")


def message_of(claim: ClaimSummary) -> str:
    """With the key of its resource, unless the message begins with its place in the Workload."""
    placed = claim.message.startswith(f"resources.{claim.key}.")
    return claim.message if placed else f"{claim.key}: {claim.message}"


def runtime_ready(seen: Seen) -> Condition:
    """The mirror's condition, if it is about this generation. Until then a first status can wait for a moment."""
    status = seen.workload.status
    for condition in status.conditions if status else ():
        if condition.type == RUNTIME_READY.name and condition.observed_generation == seen.workload.metadata.generation:
            return msgspec.structs.replace(condition)
    return RUNTIME_READY.not_yet("RuntimeProvisioning", "The runtime has not answered for this generation yet")
