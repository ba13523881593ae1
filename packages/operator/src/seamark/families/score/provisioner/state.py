"""What a claim is judged from, and how its phase is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from seamark.api.score import ResourceClaim, ResourceClaimStatus
from seamark.families.score.platform.configuration import Provisioner
from seamark.families.score.platform.templates import Unfilled, fill
from seamark_runtime.api.core import Secret
from seamark_runtime.api.meta import to_wire
from seamark_runtime.client import Client
from seamark_runtime.conditions import ConditionMap, ConditionType, Stamp
from seamark_runtime.follow import Followed
from seamark_runtime.status import digest

OUTPUTS = "outputs"  # the role of the one child


@dataclass(frozen=True)
class Given:
    """What the templates make of a claim; `missing` is what they lack."""

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
    if ref.namespace != claim.metadata.namespace:
        return Given({}, missing="spec.workloadRef.namespace: a claim is for a Workload of its own namespace")
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

    def published(self, obj: ResourceClaim, _judged: ResourceClaimStatus) -> ResourceClaimStatus:
        return obj.status or ResourceClaimStatus()

    def stamped(self, judged: ResourceClaimStatus, published: ResourceClaimStatus, stamp: Stamp) -> ResourceClaimStatus:
        if judged == ResourceClaimStatus():
            return published  # not known yet: the status stays
        time = published.last_transition_time if published.phase == judged.phase else stamp.time
        return msgspec.structs.replace(judged, observed_generation=stamp.generation, last_transition_time=time)

    def condition_map(self, _status: ResourceClaimStatus) -> ConditionMap:
        return {}

    def fingerprint(self, obj: ResourceClaim) -> bytes:
        return digest(obj.status)

    async def write(self, client: Client, obj: ResourceClaim, status: ResourceClaimStatus) -> Any:
        fields = {"metadata": {"resourceVersion": obj.metadata.resource_version}, "status": to_wire(status)}
        return await client.named(self.manager).apply(ResourceClaim, obj.key, fields, "status")
