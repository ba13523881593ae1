"""What Seamark's edge refuses in a traffic policy, known before it is asked: its own check, run here."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache

from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.policy_document import parse_policy
from seamark_edge.edge.shares import Caller, Shares
from seamark_edge.model import CheckPostponed

SECONDS_PER_MINUTE = 5.0  # of CPU time for the checks of one namespace's policies
MOST_VERDICTS = 10_000  # that are remembered; each is a digest and a few words


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


class PolicyChecks:
    """The check of policies within a budget of CPU time for each namespace, so that no tenant keeps the operator busy.

    - A policy is checked once, however many objects use it and however often they are reconciled.
    - Where the budget of its namespace is spent, a policy is not checked: `CheckPostponed` says when it will be.
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
        self._verdicts: OrderedDict[bytes, str] = OrderedDict()  # by the policy's digest; the one used last is the last

    def __call__(self, namespace: str, policy: str) -> str:
        digest = hashlib.sha256(policy.encode("utf-8", "surrogatepass")).digest()
        verdict = self._verdicts.pop(digest, None)
        if verdict is None:
            verdict = self._check(namespace, policy)
        if len(self._verdicts) >= MOST_VERDICTS:
            self._verdicts.popitem(last=False)
        self._verdicts[digest] = verdict
        return verdict

    def _check(self, namespace: str, policy: str) -> str:
        if (wait := self._shares.wait(Caller(namespace), self._now())) > 0:
            raise CheckPostponed(
                f"not checked yet: the policies of this namespace took more than {self._seconds:g} s of CPU time in a "
                "minute",
                wait,
            )
        began = self._cpu()
        try:
            return _refusal(policy)
        finally:
            self._shares.charge(Caller(namespace), self._cpu() - began, self._now())
