"""What Seamark's edge refuses in a traffic policy, known before it is asked: its own check, run here."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeVar

from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.policy_document import parse_policy
from seamark_edge.edge.shares import Caller, Shares
from seamark_edge.model import CheckPostponed

SECONDS_PER_MINUTE = 5.0  # of CPU time for the checks of one namespace's policies
V = TypeVar("V")

MAX_RESULTS = 10_000  # results kept; each is a digest and a message


@lru_cache(maxsize=128)
def policy_refusal(_namespace: str, policy: str) -> str:
    """Why the edge refuses this policy; "" if it accepts it. It takes less than 50 ms, by the limits of the check."""
    return _refusal(policy)


def _refusal(policy: str) -> str:
    try:
        parse_policy(policy)
    except Refusal as refusal:
        return refusal.message
    return ""


class _Postponed(NamedTuple):
    """A policy that was not checked: the seconds to wait, as of then, and the time at which it can be checked."""

    after: float
    until: float


class PolicyChecks:
    """The check of policies within a budget of CPU time for each namespace, so that no tenant keeps the operator busy.

    - `check` checks a policy, once, however many objects use it and however often they are reconciled. Where the
      budget of its namespace is spent it is not checked, until there is time again.
    - `refusal` reads the result and changes nothing. Without one it raises `CheckPostponed`, with the seconds to wait.
    """

    def __init__(
        self,
        seconds: float = SECONDS_PER_MINUTE,
        now: Callable[[], float] = time.monotonic,
        cpu: Callable[[], float] = time.thread_time,
    ) -> None:
        self._seconds = seconds
        self._shares = Shares(seconds)  # each namespace has the whole of it
        self._now = now
        self._cpu = cpu
        self._results: OrderedDict[bytes, str] = OrderedDict()  # by the policy's digest; the one used last is the last
        self._postponed: OrderedDict[bytes, _Postponed] = OrderedDict()  # by digest; none of them has a result

    def check(self, namespace: str, policy: str) -> str:
        """Checks the policy if it was not checked and there is time; then the same as `refusal`."""
        digest, now = _digest(policy), self._now()
        if digest in self._results:
            self._results.move_to_end(digest)
        elif digest not in self._postponed or self._postponed[digest].until <= now:
            self._check(digest, namespace, policy, now)
        return self.refusal(namespace, policy)

    def refusal(self, _namespace: str, policy: str) -> str:
        """Why the edge refuses this policy; "" if it accepts it."""
        digest = _digest(policy)
        if (result := self._results.get(digest)) is not None:
            return result
        postponed = self._postponed.get(digest)
        message = f"the policies of this namespace took more than {self._seconds:g} s of CPU time in a minute"
        raise CheckPostponed(f"not checked yet: {message}", postponed.after if postponed is not None else 0.0)

    def _check(self, digest: bytes, namespace: str, policy: str, now: float) -> None:
        self._postponed.pop(digest, None)
        if (wait := self._shares.wait(Caller(namespace), now)) > 0:
            _keep(self._postponed, digest, _Postponed(wait, now + wait))
            return
        began = self._cpu()
        try:
            _keep(self._results, digest, _refusal(policy))
        finally:
            self._shares.charge(Caller(namespace), self._cpu() - began, now)


def _digest(policy: str) -> bytes:
    return hashlib.sha256(policy.encode("utf-8", "surrogatepass")).digest()


def _keep(known: OrderedDict[bytes, V], digest: bytes, value: V) -> None:
    if len(known) >= MAX_RESULTS:
        known.popitem(last=False)
    known[digest] = value
