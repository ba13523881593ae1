"""What a claim is judged from, and how its phase is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from seamark.api.core import Secret
from seamark.api.meta import to_wire
from seamark.api.score import ResourceClaim, ResourceClaimStatus
from seamark.core.client import Client
from seamark.core.conditions import ConditionType, Stamp, Statements
from seamark.core.follow import Followed
from seamark.families.score.config import Provisioner
from seamark.families.score.templates import Unfilled, fill

OUTPUTS = "outputs"  # the role of the one child


@dataclass(frozen=True)
class Given:
    """What the templates make of a claim; `missing` says what stands in their way."""

    values: Mapping[str, str]
    secret: str = ""
    uri: str = ""
    missing: str = ""


@dataclass(frozen=True)
class Seen:
    claim: ResourceClaim
    provisioner: Provisioner | None
    given: Given
    secret: Followed[Secret]


def given(claim: ResourceClaim, provisioner: Provisioner | None) -> Given:
    if provisioner is None:
        return Given({}, missing=f"there is no provisioner for the type {claim.spec.type!r}")
    spec, ref = claim.spec, claim.spec.workload_ref
    values: dict[str, Any] = {
        "workload": {"name": ref.name, "namespace": claim.metadata.namespace, "uid": ref.uid},
        "claim": {"name": claim.metadata.name, "key": spec.key, "id": spec.id, "class": spec.class_},
        "params": {**provisioner.defaults, **(spec.params or {})},
    }
    try:
        filled = {name: fill(template, values) for name, template in sorted(provisioner.values.items())}
        return Given(filled, fill(provisioner.secret_name, values), fill(provisioner.uri, values))
    except Unfilled as error:
        return Given({}, missing=str(error))


@dataclass(frozen=True)
class PhaseStatus:
    """A status that is one phase with its words: written as a whole, its time moving only when the phase does."""

    manager: str
    conditions: tuple[ConditionType, ...] = ()

    def said(self, obj: ResourceClaim, _judged: ResourceClaimStatus) -> ResourceClaimStatus:
        return obj.status or ResourceClaimStatus()

    def stamped(self, judged: ResourceClaimStatus, said: ResourceClaimStatus, stamp: Stamp) -> ResourceClaimStatus:
        if judged == ResourceClaimStatus():
            return said  # nobody knows yet: what was said stands
        time = said.last_transition_time if said.phase == judged.phase else stamp.time
        return msgspec.structs.replace(judged, observed_generation=stamp.generation, last_transition_time=time)

    def statements(self, _status: ResourceClaimStatus) -> Statements:
        return {}

    async def write(self, client: Client, obj: ResourceClaim, status: ResourceClaimStatus) -> Any:
        fields = {"metadata": {"resourceVersion": obj.metadata.resource_version}, "status": to_wire(status)}
        return await client.named(self.manager).apply(ResourceClaim, obj.key, fields, "status")
