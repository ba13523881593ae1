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
            Change("core/client.py", "            if timeout <= 0:\n", "            if False:\n"),
            Change("core/client.py", "timeout = min(timeout, self.fence.remaining())", "timeout = self.timeout"),
        ),
        first=("election/0/calm/3:PAUSE", "election/0/calm/4:PAUSE"),
    ),
    Bug(
        "calls without a fence",
        KIND,
        "the outside is called, however long ago the lease ran out",
        (
            Change(
                "core/calls.py",
                "        timeout = min(call.timeout, self._fence.remaining())\n",
                "        timeout = call.timeout\n",
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
                "core/leader.py",
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
                "core/leader.py",
                "self._deadline = asked + self._settings.duration - self._settings.margin",
                "self._deadline = asked + 3 * self._settings.duration",
            ),
        ),
        first=("election/0/calm/5:RENEW_LOST",),
    ),
)
