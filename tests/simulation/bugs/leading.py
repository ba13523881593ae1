"""Several replicas: writing without the lease."""

from __future__ import annotations

from tests.simulation.bugs.bug import Bug, Change

KIND = "leadership"

BUGS = (
    Bug(
        "fence ignored",
        KIND,
        "a write is sent, however long ago the lease ran out",
        (
            Change("seamark_runtime.client", "            if timeout <= 0:\n", "            if False:\n"),
            Change(
                "seamark_runtime.client", "timeout = min(timeout, self.fence.remaining())", "timeout = self.timeout"
            ),
        ),
        first=("election/0/calm/3:PAUSE", "election/0/calm/4:PAUSE"),
    ),
    Bug(
        "calls without a fence",
        KIND,
        "the outside is called, however long ago the lease ran out",
        (
            Change(
                "seamark_runtime.calls",
                "            if self._fence.remaining() <= 0:\n                raise Fenced(",
                "            if False:\n                raise Fenced(",
            ),
            Change(
                "seamark_runtime.calls",
                "        if (left := self._fence.remaining()) <= 0:\n",
                "        if (left := float('inf')) <= 0:\n",
            ),
        ),
        first=("election/0/calm/1:PAUSE",),
    ),
    Bug(
        "impatient candidate",
        KIND,
        "a lease is taken over without waiting for its end",
        (
            Change(
                "seamark_runtime.leader",
                "return now - self._seen[1] >= (lease.spec.lease_duration_seconds or self._settings.duration)",
                "return now - self._seen[1] >= 0",
            ),
        ),
        first=("election/0/calm/",),
    ),
    Bug(
        "lease believed too long",
        KIND,
        "a leader believes in its lease for longer than others do",
        (
            Change(
                "seamark_runtime.leader",
                "self._deadline = asked + self._settings.duration - self._settings.margin",
                "self._deadline = asked + 3 * self._settings.duration",
            ),
        ),
        first=("election/0/calm/5:RENEW_LOST",),
    ),
    Bug(
        "age from before the read",
        KIND,
        "a candidate counts the age of a lease from before it asked for it, not from the response",
        (
            Change(
                "seamark_runtime.leader",
                "self._run_out(lease, self._clock.boottime())",
                "self._run_out(lease, asked)",
            ),
        ),
        first=tuple(f"leases/{seed}/calm/" for seed in range(60)),
    ),
    Bug(
        "suspended time not counted",
        KIND,
        "a leader's deadline stands still while its machine is suspended",
        (
            Change(
                "seamark_runtime.leader",
                "return self._deadline - self._clock.boottime()",
                "return self._deadline - self._clock.monotonic()",
            ),
            Change("seamark_runtime.leader", "asked = self._clock.boottime()", "asked = self._clock.monotonic()"),
        ),
        first=tuple(f"election/0/calm/{number}:SUSPEND" for number in range(1, 8)),
    ),
)
