"""Which namespace may have the names below a wildcard. No I/O.

- A wildcard answers for every name below it that does not exist. So a name that would take answers away from the
  wildcard of another namespace is that namespace's to publish, however deep it is.
- A name that is served already is not covered by any wildcard, so a wildcard that comes later takes nothing away.
- The nearest wildcard decides. One that is not served yet counts only for a namespace that may have it itself.
- A wildcard that was released lately keeps what it kept: it may be replaced.
- The wildcard of the zone itself keeps nothing: its first namespace would keep the whole zone from all others.
- Names with service labels (`_acme-challenge.host`, `_sip._tcp.host`) are the namespace's that has the host: by them
  others prove that a host is theirs (`service_host`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from seamark.families.dns.model.rules import Rules
from seamark.families.dns.planning.claims import Claim, holders, precedence
from seamark.families.dns.planning.registry import Owned
from seamark.providers.dns.model import Record


@dataclass(frozen=True, slots=True)
class Wildcard:
    """The namespaces that have it or claim it, the one that counts first, and whether the server holds it."""

    namespaces: tuple[str, ...] = ()
    served: bool = False


class Wildcards:
    """The wildcards of one zone, kept up with what changes.

    `_known` has those that matter for other names, as they were when they last changed.
    """

    def __init__(self, zone: str, rules: Rules) -> None:
        self._of_zone = f"*.{zone}"
        self._rules = rules
        self._known: dict[str, Wildcard] = {}

    def note(
        self,
        name: str,
        records: tuple[Record, ...],
        owned: Owned,
        claims: Sequence[Claim],
        released_by: str | None = None,
    ) -> bool:
        """What is at this name now. Whether that changes anything for the names below it.

        A wildcard that was released lately is still that namespace's.
        """
        before = self._known.pop(name, None)
        after = self.at(records, owned, claims, released_by)
        if after.namespaces:
            self._known[name] = after
        return after != (before or Wildcard())

    def at(
        self, records: tuple[Record, ...], owned: Owned, claims: Sequence[Claim], released_by: str | None = None
    ) -> Wildcard:
        """The namespaces at a name, be it a wildcard or not."""
        if released_by is not None and not claims:
            return Wildcard((released_by,), served=True)
        held = holders(owned, self._rules)
        if self._rules.registry == "txt" and records and not held:
            return Wildcard()  # not ours: no claim to it is granted
        ranked = [claim.ref.namespace for claim in sorted(claims, key=lambda claim: precedence(claim, held))]
        return Wildcard(tuple(dict.fromkeys(ranked)) or tuple(sorted(held)), served=bool(records or held))

    def above(self, name: str) -> Iterator[str]:
        """The names of all wildcards that may keep it for their namespace, the nearest first."""
        rest = name
        while (dot := rest.find(".")) >= 0:
            rest = rest[dot + 1 :]
            if (wildcard := f"*.{rest}") == self._of_zone:
                return
            if wildcard != name:
                yield wildcard

    def namespace(self, name: str) -> str | None:
        """The namespace that the names below the nearest wildcard are kept for; None where there is no wildcard."""
        return kept_for(self._known[above] for above in reversed(list(self.above(name))) if above in self._known)


def kept_for(wildcards: Iterable[Wildcard]) -> str | None:
    """By the wildcards above a name, the widest first."""
    namespace: str | None = None
    for wildcard in wildcards:
        if wildcard.served or namespace is None:
            namespace = next(iter(wildcard.namespaces), namespace)
    return namespace


def is_wildcard(name: str) -> bool:
    return name.startswith("*.")


def service_host(name: str, zone: str) -> str:
    """The host that a name with service labels is about: `a.example.org` for `_acme-challenge.a.example.org`.

    Empty for any other name, and for those about the zone itself.
    """
    rest = name
    while rest.startswith("_"):
        rest = rest.partition(".")[2]
    return "" if rest in (name, zone, "") else rest
