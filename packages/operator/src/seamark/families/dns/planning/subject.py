"""An object with records in a zone, and its claims there. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seamark.families.dns.model.desired import DesiredRecords
from seamark.families.dns.model.entries import Ref
from seamark.families.dns.planning.claims import Claim, ObjectClaims
from seamark.providers.dns.model import Slot


@dataclass(frozen=True, slots=True)
class Subject:
    """An object with records in a zone, as far as the zone is concerned.

    - `settled`: it has our finalizer, so that its records can be found when it is deleted.
    - `hidden`: a filter hides it. Its records are left as they are.
    """

    ref: Ref
    uid: str
    generation: int
    desired: DesiredRecords
    claims: Mapping[str, tuple[Claim, ...]]
    deleting: bool = False
    settled: bool = True
    hidden: bool = False

    def claims_in(self, zone: str) -> ObjectClaims:
        if self.deleting:
            slots = tuple(desired.record.slot for desired in self.desired.records if desired.zone == zone)
            return ObjectClaims(self.ref, deleting=slots)
        unknown = any(problem.slot is None for problem in self.desired.problems)  # which record was meant
        return ObjectClaims(
            self.ref,
            claims=() if self.hidden else self.claims.get(zone, ()),
            slots=frozenset(problem.slot for problem in self.desired.problems if problem.slot is not None),
            held=self.hidden or not self.settled or unknown,
        )

    def leaves(self, zone: str) -> bool:
        """Whether it wants no record in the zone any more."""
        return self.deleting or not self.claims.get(zone)


def claims_of(
    ref: Ref, desired: DesiredRecords, created: str, *, settled: bool, refused: frozenset[Slot] = frozenset()
) -> Mapping[str, tuple[Claim, ...]]:
    """By zone."""
    found: dict[str, list[Claim]] = {}
    for record in desired.records:
        before = record.record.slot in refused
        claim = Claim(ref, record.index, record.record, record.labels, settled, before, created)
        found.setdefault(record.zone, []).append(claim)
    return {zone: tuple(claims) for zone, claims in found.items()}
