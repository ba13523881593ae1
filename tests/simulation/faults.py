"""What can go wrong between an operator and its world: only anomalies that Kubernetes, or a network, allows."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Fault(enum.Enum):
    """A fault is injected into one numbered request, or into the world right before it."""

    # the operator's process
    CRASH_BEFORE = "the process dies before the request is sent"
    CRASH_AFTER = "the process dies after the request took effect, before the answer"
    # answers
    CONFLICT = "409: the object has changed"
    THROTTLE = "429 with Retry-After: 3"
    ERROR = "500 without effect"
    TIMEOUT_AFTER = "504 after the effect"
    FORBIDDEN = "403"
    SECRET = "403 whose words carry a secret, and do not end"
    HANG_BEFORE = "no answer, no effect"
    HANG_AFTER = "no answer, after the effect"
    RESET_BEFORE = "connection refused"
    RESET_AFTER = "connection reset after the effect"
    # one of several replicas
    PAUSE = "the process stands still for 40 s after the answer, and then goes on"
    SUSPEND = "the machine is suspended for 40 s after the answer: its monotonic clock stands still"
    RENEW_LOST = "for 60 s the lease can't be read or renewed"
    PARTITION = "for 60 s nothing passes between this process and the API server"
    STOP = "the process is asked to stop, and another one starts"
    # streams
    CUT = "all watches are cut in the middle of a line"
    DUPLICATES = "all watches are cut, and begin with what they sent last"
    GONE = "history is compacted and all watches are cut: 410"
    HALF_OPEN = "all watches fall silent without an end"
    LAG = "watches lag by 30 s for a while"
    # the cluster
    RESTART = "the API server restarts: 5 s without answers"
    RESTORE = "etcd is restored to the past"
    RESTORE_BUMPED = "etcd is restored to the past, with revisions that were never used"
    NAMESPACE = "the namespace is deleted, and made again after 10 s"
    RBAC = "all rights are withdrawn for 60 s"
    QUOTA = "creating is refused by a quota for 60 s"
    CLOCK_BACK = "the wall clock jumps an hour back"
    CLOCK_FORTH = "the wall clock jumps an hour ahead"
    # outside
    OUTSIDE_REFUSES = "the outside world refuses for 60 s"
    OUTSIDE_LEAKS = "the outside world refuses for 60 s, in words that carry a secret"
    OUTSIDE_HANGS = "the outside world does not answer for 60 s"
    OUTSIDE_LOSES = "the outside world takes effect and does not answer, for 60 s"


ON_REQUEST = (
    Fault.CRASH_BEFORE,
    Fault.CRASH_AFTER,
    Fault.CONFLICT,
    Fault.THROTTLE,
    Fault.ERROR,
    Fault.TIMEOUT_AFTER,
    Fault.FORBIDDEN,
    Fault.SECRET,
    Fault.HANG_BEFORE,
    Fault.HANG_AFTER,
    Fault.RESET_BEFORE,
    Fault.RESET_AFTER,
)
OF_REPLICAS = (Fault.PAUSE, Fault.SUSPEND, Fault.RENEW_LOST, Fault.PARTITION, Fault.STOP)
IN_ELECTIONS = (*OF_REPLICAS, Fault.CRASH_BEFORE, Fault.CRASH_AFTER, Fault.CLOCK_BACK, Fault.CLOCK_FORTH)
ALONE = tuple(fault for fault in Fault if fault not in OF_REPLICAS)
RESTORES = (Fault.RESTORE, Fault.RESTORE_BUMPED)
CHANGES_HISTORY = (*RESTORES, Fault.NAMESPACE)  # after these the user's own writes may be undone
LEAKS = (Fault.SECRET, Fault.OUTSIDE_LEAKS)
CANARY = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2VhbWFyaw"  # in the message of a refusal; to be seen nowhere
ENDLESS = (
    "eyJ" * 20_000
)  # in the message of a refusal: longer than any status may be, and slow for patterns that backtrack


@dataclass(frozen=True, order=True)
class Injection:
    """This fault, at this request of the operator (counted from 1, over all its lives)."""

    request: int
    fault_name: str

    @property
    def fault(self) -> Fault:
        return Fault[self.fault_name]

    def __str__(self) -> str:
        return f"{self.request}:{self.fault_name}"


Plan = tuple[Injection, ...]


def parse(text: str) -> Plan:
    """The plan that a printed one stands for: `12:CRASH_AFTER,30:GONE`."""
    return tuple(_injection(part) for part in text.split(",") if part)


def _injection(text: str) -> Injection:
    number, _, name = text.strip().partition(":")
    if not number.isdigit() or int(number) < 1:
        raise ValueError(f"{text!r} is no injection: it should read like 12:CRASH_AFTER")
    if name not in Fault.__members__:
        raise ValueError(f"there is no fault {name!r}; known are {', '.join(Fault.__members__)}")
    return Injection(int(number), name)
