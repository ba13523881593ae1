"""Names of ownership records: no record may be there that can't coexist with a TXT record. No I/O.

- While a record has its ownership record at a name, or is about to, no CNAME, NS or TXT record is granted there.
- Such a record that exists already stays, and the record whose ownership record would be there is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from seamark.families.dns.model.rules import Rules
from seamark.families.dns.planning.claims import EXCLUSIVE, Claim, InTheWay, Reserved
from seamark.families.dns.planning.registry import Registry
from seamark.providers.dns.model import Content


@dataclass(frozen=True, slots=True)
class OwnershipNames:
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
        owned = self.registry.types_owned(name)
        types = {claim.record.type for claim in claims} - owned
        return {type_: self.rules.names.of(name, type_) for type_ in types}

    def other_owner(self, name: str) -> str | None:
        """The name whose records have their ownership records where those of this name are."""
        return self.rules.names.other_owner(name) if self.rules.registry == "txt" else None

    def shared(self, name: str, other: str | None, claims: Iterable[Claim]) -> frozenset[str]:
        """The types of which the other name has the ownership record. `claims` are at that name: of two new ones
        the wildcard is served."""
        if other is None:
            return frozenset()
        claimed = {claim.record.type for claim in claims} if other.startswith("*.") else set[str]()
        return frozenset(claimed | {slot[1] for slot in self.registry.at(other)})

    def in_the_way(self, at: str, content: Content) -> InTheWay | None:
        """The record at this name beside which there can't be an ownership record."""
        for record in content.at(at):
            if record.type in EXCLUSIVE:
                ownership = self.registry.at(at).get(record.slot)
                return InTheWay(str(record), ours=ownership is not None and self.rules.ours(ownership.owner))
        return None
