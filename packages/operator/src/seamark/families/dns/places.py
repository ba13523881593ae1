"""Names of ownership records: nothing else may be there that a TXT record can't be beside. No I/O.

- While a record has its ownership record at a name, or is about to, no CNAME, NS or TXT record is granted there.
- Such a record that exists already stays, and the record whose ownership record would be there is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seamark.families.dns.claims import EXCLUSIVE, Claim, InTheWay, Reserved
from seamark.families.dns.registry import Registry
from seamark.families.dns.rules import Rules
from seamark.providers.dns.model import Content


@dataclass(frozen=True, slots=True)
class Places:
    """Looks at the names of ownership records in one zone."""

    rules: Rules
    registry: Registry

    def about(self, name: str, claims: Iterable[Claim]) -> tuple[str, str] | None:
        """The record whose ownership record would be at this name, where that matters to these claims."""
        if self.rules.registry != "txt" or not any(claim.record.type in EXCLUSIVE for claim in claims):
            return None
        return self.rules.names.owned(name)

    def reserved(self, about: tuple[str, str] | None, claims: Iterable[Claim]) -> Reserved | None:
        """`claims` are those at the name of the record that `about` names."""
        if about is None:
            return None
        name, type_ = about
        stands = any(slot[1] == type_ for slot in self.registry.at(name))
        if not stands and not any(claim.record.type == type_ for claim in claims):
            return None
        return Reserved(f"{name} {type_}", stands)

    def of(self, name: str, claims: Iterable[Claim]) -> dict[str, str]:
        """By type: where the ownership records of claims at this name would be that have none yet."""
        if self.rules.registry != "txt":
            return {}
        owned = {slot[1] for slot in self.registry.at(name)}
        return {one: self.rules.names.of(name, one) for one in {claim.record.type for claim in claims} - owned}

    def in_the_way(self, place: str, content: Content) -> InTheWay | None:
        for record in content.at(place):
            if record.type in EXCLUSIVE:
                ownership = self.registry.at(place).get(record.slot)
                return InTheWay(str(record), ours=ownership is not None and self.rules.ours(ownership.owner))
        return None
