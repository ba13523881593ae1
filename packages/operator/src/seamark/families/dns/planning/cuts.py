"""Zone cuts: NS and DNAME records, below which a zone answers for no name itself. No I/O.

- A cut hides all names below it. So it is refused where another namespace has names below it, or where there are
  records that are not ours; and a name below the cut of another namespace is refused.
- The first keeps it. A cut that is served counts before names that are only claimed, and a claimed name before a
  cut that is not served yet. Where both are served, the cut goes: it hides the names, and they do nothing to it.
- A name or a cut that was released lately counts as served: it may be replaced.
- Claims that are refused because of a name of another namespace do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from seamark.families.dns.model.desired import CUTS
from seamark.families.dns.model.rules import Rules
from seamark.families.dns.planning.claims import AtName, Cut, holders, precedence

FOREIGN = ""  # in place of a namespace: records that are not ours


@dataclass(frozen=True, slots=True)
class Tenant:
    """The namespace that has a name or asks for it first. `cut`: the type of its cut there that is served, if any."""

    namespace: str
    served: bool
    cut: str = ""


class Cuts:
    """The cuts of one zone and the names below them, kept up to date. Empty where no cuts are managed.

    - `_tenants` has every name with records or claims. `_below` has the same names, by each name above them.
    - `_desired` has the names at which there is a cut, or a claim to one.
    """

    def __init__(self, zone: str, rules: Rules) -> None:
        self._zone = zone
        self._rules = rules
        self.active = bool(rules.types & CUTS) and not rules.shared_names
        self._tenants: dict[str, Tenant] = {}
        self._below: dict[str, dict[str, None]] = {}
        self._desired: set[str] = set()

    def note(self, name: str, found: AtName) -> Iterator[str]:
        """This is at a name now. Returns the other names for which that may count."""
        before, after = self._tenants.get(name), self._tenant(name, found)
        if before is None and after is not None:
            for above in self._above(name):
                self._below.setdefault(above, {})[name] = None
        if after is not None:
            self._tenants[name] = after
        elif before is not None:
            self._forget(name)
        desired = any(claim.record.type in CUTS for claim in found.claims) or bool(after and after.cut)
        (self._desired.add if desired else self._desired.discard)(name)
        yield from (above for above in self._above(name) if above in self._desired)
        if _cut(before) != _cut(after):
            yield from self._below.get(name, ())

    def above(self, name: str) -> Cut | None:
        """The nearest cut above a name."""
        for above in self._above(name):
            tenant = self._tenants.get(above)
            if tenant is not None and tenant.cut:
                return Cut(tenant.cut, tenant.namespace)
        return None

    def hidden(self, name: str, holder: Callable[[str], str | None]) -> frozenset[str]:
        """The namespaces whose names a cut at this name would hide. `holder`: the namespace that has a name."""
        tenant, found = self._tenants.get(name), set[str]()
        stands = tenant is not None and bool(tenant.cut)
        for below in self._below.get(name, ()):
            other = self._tenants[below]
            if stands and (not other.served or other.namespace == FOREIGN):
                continue
            namespace = other.namespace if other.served else holder(below)
            if namespace is not None:
                found.add(namespace)
        return frozenset(found)

    def _tenant(self, name: str, found: AtName) -> Tenant | None:
        before, released_by = self._tenants.get(name), found.released_by
        if released_by is not None:
            kept = before.cut if before is not None and before.namespace == released_by else ""
            return Tenant(released_by, served=True, cut=kept)
        held = holders(found.owned, self._rules)
        if held or found.claims:
            first = min(found.claims, key=lambda claim: precedence(claim, held), default=None)
            namespace = first.ref.namespace if first is not None else min(held)
            return Tenant(
                namespace, bool(found.records if self._rules.registry != "txt" else held), self._served(found)
            )
        return Tenant(FOREIGN, served=True) if found.records and not found.ownership_record else None

    def _served(self, found: AtName) -> str:
        """The type of the cut of ours that is on the server."""
        claimed = {claim.record.slot for claim in found.claims} if self._rules.registry != "txt" else set()
        for record in found.records:
            ownership = found.owned.get(record.slot)
            ours = ownership is not None and self._rules.ours(ownership.owner)
            if record.type in CUTS and (ours or record.slot in claimed):
                return record.type
        return ""

    def _above(self, name: str) -> Iterator[str]:
        """The names above it in the zone, the nearest first; at the zone itself there is no cut of ours."""
        rest = name
        while (dot := rest.find(".")) >= 0 and (rest := rest[dot + 1 :]) != self._zone:
            yield rest

    def _forget(self, name: str) -> None:
        del self._tenants[name]
        for above in self._above(name):
            names = self._below[above]
            del names[name]
            if not names:
                del self._below[above]


def _cut(tenant: Tenant | None) -> tuple[str, str] | None:
    return (tenant.cut, tenant.namespace) if tenant is not None and tenant.cut else None
