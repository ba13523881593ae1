"""Which namespace has each name of a zone, as far as that counts for other names. No I/O.

- A name that is on the server stays with its namespace. Any other claim is refused where it may affect a name
  (`relation.py`) that another namespace has, or has claimed before: that of the older object.
- A claim that is refused is not counted: it reserves nothing, and gives no right to any other name.
- A name below a served wildcard of its own namespace takes nothing from wildcards further above.
- Of two served names both stay, also where one may affect the other.

Every effect is on a name with fewer labels, except that a wildcard and its parent affect each other. These two are
decided together, and all others from the shortest name to the longest: each at most once for each change.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from seamark.families.dns.model.desired import CUTS
from seamark.families.dns.model.entries import Ref
from seamark.families.dns.model.rules import Rules
from seamark.families.dns.planning.claims import AtName, Claim, Precedence, holders, precedence
from seamark.families.dns.planning.dependents import Dependents
from seamark.families.dns.planning.relation import STAR, Effect, affected, affected_above, base, beside

NOTHING: Mapping[str, Effect] = {}


@dataclass(frozen=True, slots=True)
class Holder:
    """The namespace that has a name: on the server (or lately), or by a claim of an object from `since`.

    `cut`: it claims nothing but cuts there that are not served. They are granted by what is below them (`cuts.py`).
    """

    namespace: str
    served: bool
    since: str = ""
    cut: bool = False

    def precedes(self, other: Holder) -> bool:
        return self.namespace != other.namespace and not self.cut and (self.served or self.since <= other.since)


class NameHolders:
    """The holders of the names of one zone, kept up to date. Empty where names are shared.

    - `_holders` has the names that a namespace has. `_refusals` has, by name, the namespaces whose claims are refused.
    - `_dependents`: by base, the names above it that decide about claims there.
    """

    def __init__(self, zone: str, rules: Rules, at: Callable[[str], AtName | None]) -> None:
        self._zone = zone
        self._rules = rules
        self._at = at
        self._holders: dict[str, Holder] = {}
        self._refusals: dict[str, Mapping[str, Effect]] = {}
        self._dependents = Dependents()

    def namespace(self, name: str) -> str | None:
        """Who has this name, by what the server holds or by a claim that is not refused for another name's sake."""
        holder = self._holders.get(name)
        return holder.namespace if holder is not None else None

    def refusals(self, name: str) -> Mapping[str, Effect]:
        """By namespace: why claims to this name are refused."""
        return self._refusals.get(name, NOTHING)

    def note(self, names: Iterable[str]) -> dict[str, None]:
        """What is at these names may have changed. Returns the names for which the decision has."""
        if self._rules.shared_names:
            return {}
        queue: list[tuple[int, str]] = []
        queued: set[str] = set()

        def enqueue(found: str) -> None:
            if found not in queued:
                queued.add(found)
                heapq.heappush(queue, (found.count("."), found))

        for name in names:
            enqueue(base(name))
        changed: dict[str, None] = {}
        while queue:
            _, parent = heapq.heappop(queue)
            for name, holder_changed in self._decide(parent):
                changed[name] = None
                for dependent in self._dependents.planned_by(name) if holder_changed else ():
                    enqueue(dependent)
        return changed

    def _decide(self, parent: str) -> Iterator[tuple[str, bool]]:
        """A name and its wildcard. Returns what of them has changed, and whether its holder has."""
        holding, refused = dict[str, Holder](), dict[str, dict[str, Effect]]()
        names = (parent, STAR + parent)
        contenders = sorted(
            ((rank, name, holder) for name in names for rank, holder in self._contenders(name)), key=_by_rank
        )
        self._depend(parent, contenders)
        for _, name, contender in contenders:
            effect = self._effect(name, contender, holding) if not contender.served else None
            if effect is not None:
                refused.setdefault(name, {})[contender.namespace] = effect
            else:
                holding.setdefault(name, contender)
        for name in names:
            after, refusals = holding.get(name), refused.get(name, NOTHING)
            differs = after != self._holders.get(name)
            if differs or refusals != self._refusals.get(name, NOTHING):
                self._holders.pop(name, None)
                self._refusals.pop(name, None)
                if after is not None:
                    self._holders[name] = after
                if refusals:
                    self._refusals[name] = refusals
                yield name, differs

    def _effect(self, name: str, contender: Holder, holding: Mapping[str, Holder]) -> Effect | None:
        """On a name of another namespace that precedes this claim."""
        for other, effect in affected(name, self._zone):
            own = other == beside(name)
            holder = holding.get(other) if own else self._holders.get(other)
            if holder is None:
                continue
            if (own and holder.namespace != contender.namespace and not holder.cut) or holder.precedes(contender):
                return effect
            if effect is Effect.BELOW and holder.namespace == contender.namespace and holder.served:
                return None
        return None

    def _depend(self, parent: str, contenders: Iterable[_Contender]) -> None:
        """What is on the server already is decided by no other name."""
        waiting = any(not holder.served for _, _, holder in contenders)
        above = tuple(name for name, _ in affected_above(parent, self._zone)) if waiting else ()
        self._dependents.note(parent, above)

    def _contenders(self, name: str) -> Iterator[tuple[Precedence, Holder]]:
        """The namespaces at a name, with the precedence of the first claim of each."""
        found = self._at(name)
        if found is None:
            return
        held = holders(found.owned, self._rules)
        if not found.claims:
            if (namespace := found.released_by or min(held, default=None)) is not None:
                yield (False, "", 0, Ref("", namespace, "")), Holder(namespace, served=True)
            return
        if self._rules.registry == "txt" and found.records and not held and not found.ownership_record:
            return  # not ours: no claim to it is granted
        ranks = dict[str, Precedence]()
        cuts = dict[str, bool]()
        for claim in found.claims:
            namespace, rank = claim.ref.namespace, precedence(claim, held)
            ranks[namespace] = min(rank, ranks.get(namespace, rank))
            cuts[namespace] = _is_cut(claim) and cuts.get(namespace, True)
        first = min(ranks, key=ranks.__getitem__)
        unowned = self._rules.registry != "txt" and bool(found.records)  # that of who claims it
        for namespace, rank in ranks.items():
            if namespace in held or namespace == found.released_by or (unowned and namespace == first):
                yield (False, *rank[1:]), Holder(namespace, served=True)
            else:
                yield (True, *rank[1:]), Holder(namespace, served=False, since=rank[1], cut=cuts[namespace])


_Contender = tuple[Precedence, str, Holder]


def _by_rank(contender: _Contender) -> tuple[Precedence, str]:
    return contender[:2]


def _is_cut(claim: Claim) -> bool:
    return claim.record.type in CUTS
