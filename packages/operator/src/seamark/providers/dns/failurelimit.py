"""How often a provider may be sent changes that it does not accept. No I/O, no clock.

The protocol of webhook providers does not report which record was refused, nor whether the provider refuses everything:
both show only when it is asked again, and a provider in trouble must not be asked hundreds of times.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

MOST_FAILURES = 16  # in a row, at once: enough to halve a batch of 200 down to its first records
PAUSE = 12.0  # seconds between two attempts beyond that
MOST_KNOWN = 10_000  # changes


class FailureLimit:
    """Contract:

    - While attempts succeed in between, there is no limit. `MOST_FAILURES` failures in a row make it `exhausted`:
      then there is one attempt for each `PAUSE`. A success ends that.
    - Of an exhausted limit a change that failed alone before has the second choice: its pause is twice as long.
    - What the provider asked for (Retry-After) is a pause for every attempt.
    - `problem` is the last failure, for those that are not attempted.
    """

    def __init__(self) -> None:
        self.problem = ""
        self._failures = 0  # since the last success
        self._last = float("-inf")  # when the last one was
        self._until = float("-inf")  # by Retry-After
        self._failed: dict[Hashable, None] = {}  # changes that failed alone since the last success

    @property
    def exhausted(self) -> bool:
        return self._failures >= MOST_FAILURES

    def wait(self, now: float, changes: Sequence[Hashable] = ()) -> float:
        """Seconds until these changes may be attempted; 0 for now."""
        ends = self._until
        if self.exhausted:
            known = [change in self._failed for change in changes]
            ends = max(ends, self._last + (2 * PAUSE if known and all(known) else PAUSE))
        return max(0.0, ends - now)

    def failed(self, now: float, problem: str, changes: Sequence[Hashable] = (), *, after: float | None = None) -> None:
        self.problem = problem
        self._failures += 1
        self._last = now
        if after is not None:
            self._until = max(self._until, now + after)
        if len(changes) == 1:  # of several, any may be the cause
            self._failed[changes[0]] = None
        while len(self._failed) > MOST_KNOWN:
            del self._failed[next(iter(self._failed))]

    def succeeded(self) -> None:
        self._failures = 0
        self._until = float("-inf")
        self._failed.clear()
