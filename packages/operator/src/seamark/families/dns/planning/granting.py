"""Which claims to a name are granted: those of the one namespace that may have it. Pure.

- A name belongs to one namespace: that of the records there, else that of the older object.
- No claim is granted that may affect a name of another namespace (`nameholders.py`).
- Nothing that is below the cut of another namespace is granted, and no cut that hides names of another.
- Claims that wait for a name which was released lately get nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from seamark.families.dns.model.desired import CUTS
from seamark.families.dns.model.entries import Ref
from seamark.families.dns.model.rules import Rules
from seamark.families.dns.planning.claims import Claim, Decision, Name, display_name, holders, precedence
from seamark.families.dns.planning.tenancy import waiting_message


class Granting:
    """One name. `_decisions` has a decision about each claim that is refused."""

    def __init__(self, name: Name, rules: Rules) -> None:
        self._name = name
        self._rules = rules
        self._decisions: dict[tuple[Ref, int], Decision] = {}

    def granted(self) -> tuple[Sequence[Claim], dict[tuple[Ref, int], Decision]]:
        return self._entitled(self._not_hiding(self._name.claims)), self._decisions

    def _entitled(self, claims: Sequence[Claim]) -> Sequence[Claim]:
        """The claims of the namespace that may have this name; the others are refused."""
        waiting = self._name.waiting
        if not waiting:
            return self._of_one_namespace(self._not_covered(claims))
        entitled = [claim for claim in claims if claim.id not in waiting]
        winners = self._of_one_namespace(self._not_covered(entitled))
        first = winners[0].ref if winners else None
        for claim in claims:
            if claim.id not in waiting or (first is not None and claim.ref.namespace == first.namespace):
                continue
            if first is not None:
                self._refuse(claim, f"{claim.record} is already claimed by {display_name(first, claim.ref)}")
            else:
                self._refuse(claim, waiting_message(claim.record, self._rules.hold))
        return [claim for claim in claims if first is not None and claim.ref.namespace == first.namespace]

    def _not_covered(self, claims: Sequence[Claim]) -> Sequence[Claim]:
        """Without claims that affect a name of another namespace, or that are below its cut."""
        cut = self._name.cut
        for claim in claims:
            if (effect := self._name.effects.get(claim.ref.namespace)) is not None:
                self._refuse(claim, f"{claim.record} {effect.value}")
            elif cut is not None and claim.ref.namespace != cut.namespace:
                reason = f"is below the {cut.type} record of another namespace, which hides it"
                self._refuse(claim, f"{claim.record} {reason}")
        return [claim for claim in claims if claim.id not in self._decisions]

    def _of_one_namespace(self, claims: Sequence[Claim]) -> Sequence[Claim]:
        """A name belongs to one namespace: to the one that has records there, or else to the first."""
        if self._rules.shared_names or len({claim.ref.namespace for claim in claims}) < 2:
            return claims
        held = holders(self._name.owned, self._rules)
        first = min(claims, key=lambda claim: precedence(claim, held)).ref
        for claim in claims:
            if claim.ref.namespace != first.namespace:
                self._refuse(claim, f"{claim.record} is already claimed by {display_name(first, claim.ref)}")
        return [claim for claim in claims if claim.ref.namespace == first.namespace]

    def _not_hiding(self, claims: Sequence[Claim]) -> Sequence[Claim]:
        """Without cuts that would hide names of others."""
        if not self._name.hidden:
            return claims
        for claim in claims:
            others = self._name.hidden - {claim.ref.namespace}
            if claim.record.type not in CUTS or not others:
                continue
            if others == {""}:
                self._refuse(claim, f"{claim.record} would hide records below it that are not ours", "NotOwned")
            else:
                self._refuse(
                    claim, f"{claim.record} would hide names of another namespace below it; choose another name"
                )
        return [claim for claim in claims if claim.id not in self._decisions]

    def _refuse(self, claim: Claim, message: str, reason: str = "Conflict") -> None:
        self._decisions[claim.id] = Decision(claim.record.slot, reason=reason, message=message)
