"""Records that a provider has in other types than objects ask for, as the aliases of Route 53. No I/O.

- While it is not known what the provider makes of a claim, none of our records that may be it is removed.
- When it is known, what was made of the claim before goes, in one change with what takes its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from seamark.families.dns.model.rules import Policy, Rules
from seamark.families.dns.planning.claims import Claim, Name
from seamark.families.dns.planning.registry import Owned, Ownership
from seamark.providers.dns.model import Record, Slot

ALIASED = ("A", "AAAA", "CNAME")  # the types that providers turn into each other


class FormsAtName:
    """What becomes of the claims to one name. `_forms`: by claimed record; None while that is not known."""

    def __init__(self, name: Name, rules: Rules) -> None:
        self._name = name
        self._rules = rules
        self._adjusts = name.adjusted is not None
        self._forms: dict[Slot, frozenset[Slot] | None] = {}

    def expect(self, claims: Iterable[Claim]) -> None:
        self._forms = dict.fromkeys(claim.record.slot for claim in claims)

    def known(self, slot: Slot, forms: Sequence[Record]) -> None:
        self._forms[slot] = frozenset(form.slot for form in forms)

    def forget(self, slot: Slot) -> None:
        """The claims to it have lost, and nothing of them stays."""
        del self._forms[slot]

    def undecided(self, lingering: Owned, granted: Sequence[Claim]) -> frozenset[Slot]:
        """Records of ours that no object asks for, and that may be what the provider makes of one that is asked for."""
        if not self._adjusts:
            return frozenset()
        wanted = {claim.record.set_identifier for claim in granted if claim.record.type in ALIASED}
        return frozenset(slot for slot in lingering if slot[1] in ALIASED and slot[2] in wanted)

    def former(self, undecided: frozenset[Slot], deletable: Callable[[Slot, Ownership], bool]) -> dict[Slot, Ownership]:
        """Those of them that are not, and what was asked for and has another type now."""
        if not self._adjusts:
            return {}
        forms = {form for found in self._forms.values() for form in found or ()}
        unknown = {slot[2] for slot, found in self._forms.items() if found is None}
        retyped = {slot for slot, found in self._forms.items() if found and slot not in found}
        going = {slot for slot in undecided | retyped if slot not in forms and slot[2] not in unknown}
        return {
            slot: ownership
            for slot, ownership in self._name.owned.items()
            if slot in going and slot not in self._name.held and deletable(slot, ownership)
        }

    def replaceable(self, slot: Slot) -> bool:
        """Whether it is ours, and may give way to another type of itself."""
        ownership = self._name.owned.get(slot)
        ours = ownership is not None and self._rules.ours(ownership.owner) and slot not in self._name.held
        return ours and self._adjusts and self._rules.policy is Policy.SYNC
