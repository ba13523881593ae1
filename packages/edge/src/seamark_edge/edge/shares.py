"""Fair shares of what a token or key may use up in a minute, between the owners that use it together.

All tenants of a cluster share the operator's one API key and the agents' one authtoken. The operator and the agents
name the owner of each request; an owner is a part of its credential, never more.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from seamark_edge.edge.credentials import MOST_CALLERS
from seamark_edge.edge.errors import over_share

MAX_OWNER = 320  # characters: a cluster's uid and a namespace
MOST_OWNERS = 10_000  # of one credential that are remembered; then the oldest is forgotten
COARSEST = 1e6  # the unit of `_Account` grows up to this


class Caller(NamedTuple):
    """A token or key, and the user of it who sends the request: "" for the holder of the credential."""

    credential: str
    owner: str = ""


@dataclass(slots=True)
class _Account:
    """What one credential has used, and the parts of it. It is forgotten in the course of a minute, from all alike."""

    used: float = 0.0  # at the time `at`
    at: float = 0.0
    parts: OrderedDict[str, float] = field(default_factory=OrderedDict)  # by owner; in a unit of `used / whole`
    whole: float = 0.0  # the sum of `parts`, and of those that were forgotten

    def pass_time(self, now: float, rate: float) -> None:
        self.used = max(self.used - (now - self.at) * rate, 0.0)
        self.at = now
        if not self.used:
            self.parts.clear()
            self.whole = 0.0

    def of(self, owner: str) -> float:
        return self.used * self.parts.get(owner, 0.0) / self.whole if self.whole else 0.0

    def add(self, owner: str, amount: float) -> None:
        unit = self.whole / self.used if self.used else 1.0
        if unit > COARSEST:
            self.parts = OrderedDict((name, part / unit) for name, part in self.parts.items())
            self.whole, unit = self.whole / unit, 1.0
        self.parts[owner] = self.parts.pop(owner, 0.0) + amount * unit
        self.whole += amount * unit
        self.used += amount
        if len(self.parts) > MOST_OWNERS:
            self.parts.popitem(last=False)


class Shares:
    """An amount for each credential: `amount` a minute, as much at once.

    - An owner may have used as much as is left for all others. One greedy owner gets half of the amount, n of them get
      1/(n+1) each; so there is always a part left for an owner that has used nothing.
    - Who calls without an owner may use the whole amount.
    - What was used is forgotten at the rate of the amount, from all owners of a credential in proportion.
    """

    def __init__(self, amount: float) -> None:
        self.amount = amount
        self._accounts: OrderedDict[str, _Account] = OrderedDict()  # the one that was charged last is the last

    def wait(self, caller: Caller, now: float) -> float:
        """Seconds until this caller may use more; 0 if it may now."""
        account = self._accounts.get(caller.credential)
        if account is None:
            return 0.0
        account.pass_time(now, self.amount / 60)
        taken = account.used + (account.of(caller.owner) if caller.owner else 0.0)
        if taken < self.amount:
            return 0.0
        return account.used * (1 - self.amount / taken) * 60 / self.amount + 1

    def charge(self, caller: Caller, amount: float, now: float) -> None:
        account = self._accounts.pop(caller.credential, None) or _Account(at=now)
        account.pass_time(now, self.amount / 60)
        account.add(caller.owner, amount)
        if len(self._accounts) >= MOST_CALLERS:
            self._accounts.popitem(last=False)
        self._accounts[caller.credential] = account


class RequestShares:
    """Requests of each caller: so many a minute for its credential, in shares of the owners within it."""

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._shares = Shares(per_minute)

    def spend(self, caller: Caller, now: float | None = None) -> None:
        """Count a request, or refuse it and say when to try again."""
        now = time.monotonic() if now is None else now
        if (wait := self._shares.wait(caller, now)) > 0:
            raise over_share(f"more than {self._per_minute} requests a minute", caller.owner, wait)
        self._shares.charge(caller, 1, now)
