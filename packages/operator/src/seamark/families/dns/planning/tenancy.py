"""Which namespace has a name, also for a while after its last object there is gone. No I/O, no clock.

- A name stays its namespace's for `Rules.hold` seconds after the last claim of that namespace is gone. So an object
  that is replaced gets its name back before others that wait for it.
- While records of a namespace at the name are left as they are (for an object that is hidden or has become invalid), it
  is not released.
- Holds of an earlier run are not known. For one hold time from the start, a claim that was refused before has to wait,
  unless its namespace has records there; the namespace that has records there counts as the one that had the name.
- With shared names, or without a hold time, no claim waits.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from seamark.families.dns.model.rules import Rules
from seamark.families.dns.planning.claims import Claim, holders
from seamark.families.dns.planning.registry import Owned
from seamark_runtime.holds import NEVER, Holds


class Tenancy:
    """The namespaces that have the names of one zone.

    - `_namespaces`: by name, whose claims were granted in its last plan. As many as names with claims or records.
    - `_holds`: names that were released lately. Bounded for each namespace.
    - `_waiting`: names with claims that wait for the end of the first hold time. Empty afterwards.
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._active = rules.hold > 0 and not rules.shared_names
        self._namespaces: dict[str, str] = {}
        self._holds = Holds(rules.hold)
        self._waiting: dict[str, None] = {}
        self._now = 0.0
        self._settled_at: float | None = None  # when the first hold time ends; None before the server has answered

    @property
    def next_end(self) -> float:
        """When names become free without any other change: the time of a timer."""
        settled_at = self._settled_at if self._waiting and self._settled_at is not None else NEVER
        return min(self._holds.next_end, settled_at)

    def pass_time(self, now: float, *, known: bool) -> list[str]:
        """Time has passed, and it is `known` what the server holds. Returns the names at which claims do not wait any
        more."""
        self._now = now
        if self._settled_at is None and known:
            self._settled_at = now + self._rules.hold
        freed = self._holds.expired(now)
        if not self._starting and self._waiting:
            freed += self._waiting
            self._waiting = {}
        return freed

    def note(self, name: str, claims: Iterable[Claim], owned: Owned, kept: Container[str]) -> str | None:
        """These are the claims and ownerships at a name now; records of the namespaces in `kept` stay.

        Returns a name whose hold was given up for a new one.
        """
        if not self._active:
            return None
        claiming = {claim.ref.namespace for claim in claims}
        if self._starting and any(claim.refused for claim in claims):
            self._waiting[name] = None
        known, holder = self._namespaces.get(name), self._holds.holder(name)
        held = holders(owned, self._rules)
        if holder is not None and holder in claiming and holder in held:
            self._holds.claim(name)  # served again
        if known is None and holder is None and self._starting and not held & claiming:
            known = min(held, default=None)
        if known is None or known in claiming:
            return None
        if known in kept:
            self._namespaces[name] = known
            return None
        self._namespaces.pop(name, None)
        return self._holds.release(name, known, self._now)

    def granted(self, name: str, namespace: str | None, claims: Iterable[Claim]) -> None:
        """The namespace whose claims the plan of a name has granted. A namespace with refused claims only loses it."""
        if not self._active:
            return
        if namespace is not None:
            self._namespaces[name] = namespace
        elif any(claim.ref.namespace == self._namespaces.get(name) for claim in claims):
            del self._namespaces[name]

    def kept_for(self, name: str) -> str | None:
        """The namespace that may have this name although it is not served."""
        return self._holds.holder(name)

    def entitled(self, name: str, claims: Sequence[Claim], owned: Owned) -> Sequence[Claim]:
        """Without the claims that have to wait."""
        if not self._active or not claims:
            return claims
        holder, known = self._holds.holder(name), self._namespaces.get(name)
        if holder is None and known is not None and all(claim.ref.namespace != known for claim in claims):
            holder = known  # its records are left as they are
        if holder is not None:
            return [claim for claim in claims if claim.ref.namespace == holder]
        if not self._starting:
            return claims
        held = holders(owned, self._rules)
        return [claim for claim in claims if not claim.refused or claim.ref.namespace in (known, *held)]

    @property
    def _starting(self) -> bool:
        return self._settled_at is None or self._now < self._settled_at


def waiting_message(record: object, hold: float) -> str:
    """Stable: without counters and names."""
    return f"{record} is kept for another namespace until it has been free for {hold / 60:g} minutes"
