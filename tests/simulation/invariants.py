"""Promises that hold for every family, checked on the record of writes and on every change of an object."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests import status_rules
from tests.simulation.faults import CANARY, Fault
from tests.simulation.scenario import Violation
from tests.status_rules import State

if TYPE_CHECKING:
    from tests.simulation.world import World
    from tests.simulation.writes import Write

NEVER = status_rules.NEVER
MOST_TRIES = 120  # of one request, over all faults of a schedule
LARGEST_WRITE = 100_000  # bytes: a few conditions, each with the longest message that the API takes


def conditions_of(obj: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["type"]: one for one in (obj.get("status") or {}).get("conditions") or ()}


class StatusHistory:
    """What every status change of an object must keep to: the numbered rules of all tests.

    - `ours` names the conditions that the family is responsible for; without it, all are.
    - Over a wiped status, and over several states, an observedGeneration still never goes back.
    - A flip says the time at which it happened.
    """

    def __init__(self, ours: Collection[str] | None = None) -> None:
        self._ours = None if ours is None else frozenset(ours)
        self._observed: dict[tuple[str, str], int] = {}
        self._latest: datetime | None = None
        self._clock_went_back = False
        self._rewritten: datetime | None = None

    def forget(self) -> None:
        """The past was rewritten: generations may go back."""
        self._observed.clear()
        self._rewritten = self._latest

    def check(self, old: dict[str, Any] | None, new: dict[str, Any], now: datetime, *, ours: bool) -> None:
        """`ours`: the operator made this change. What others did to a status is only looked at by itself."""
        earlier = self._latest or datetime.fromisoformat(new["metadata"]["creationTimestamp"])
        self._clock_went_back = self._clock_went_back or now < earlier
        self._latest = now
        if "status" in new:  # without one, readers are shown the CRD's default
            self._rules(old if ours and old and "status" in old else None, new, now)
        before = conditions_of(old) if old and old["metadata"]["uid"] == new["metadata"]["uid"] else {}
        for name, condition in conditions_of(new).items():
            if before.get(name) != condition:
                if not self._twofold(now):
                    self._never_back(new["metadata"]["uid"], name, condition)
                if name in before:
                    _flips_now(name, before[name], condition, now)

    def _rules(self, old: dict[str, Any] | None, new: dict[str, Any], now: datetime) -> None:
        before = State(old, self._ours) if old else None
        for broken in status_rules.step(State(new, self._ours), before):
            if not self._excused(broken.rule, old or {}, new, now):
                raise Violation(
                    RULE_NAMES[broken.rule], f"{new['metadata']['name']}, rule {broken.rule}: {broken.words}"
                )

    def _excused(self, rule: int, old: dict[str, Any], new: dict[str, Any], now: datetime) -> bool:
        match rule:
            case 13 | 14 | 15 | 16:
                return self._twofold(now)
            case 10 | 11:  # a wall clock that jumps back breaks these by itself
                return self._clock_went_back
            case 18:  # the kind has no place for what readers look at
                return "observedGeneration" not in new["status"]
            case 19:  # of two writers the other one sums up, in its next pass
                return not old or conditions_of(old).get("Ready") == conditions_of(new)["Ready"]
        return False

    def _twofold(self, now: datetime) -> bool:
        """After a restore that uses versions again a write about the one may land on the other; that can't be known."""
        return self._rewritten is not None and abs(now - self._rewritten) < timedelta(minutes=1)

    def _never_back(self, uid: str, name: str, condition: dict[str, Any]) -> None:
        observed = condition.get("observedGeneration", 0)
        if 0 < observed < self._observed.get((uid, name), 0):
            raise Violation("observed generation", f"{name} went back from {self._observed[(uid, name)]} to {observed}")
        self._observed[(uid, name)] = max(observed, self._observed.get((uid, name), 0))


RULE_NAMES = {
    **dict.fromkeys((1, 2, 3, 4, 5, 6, 7, 8), "legal conditions"),
    **dict.fromkeys((9, 10, 11), "transition time"),
    **dict.fromkeys((12, 13, 14, 15), "observed generation"),
    16: "no lie",
    **dict.fromkeys((17, 18), "kstatus"),
    **dict.fromkeys((19, 20, 21, 22), "one statement"),
}


def _flips_now(name: str, before: dict[str, Any], after: dict[str, Any], now: datetime) -> None:
    if after["lastTransitionTime"] == NEVER or before["status"] == after["status"]:
        return  # wiped: the first statement is made again by the CRD's default
    said = datetime.fromisoformat(after["lastTransitionTime"])
    near = abs((said - now).total_seconds() % 3600 - 1800) > 1798  # a jump of the clock may lie in between
    if not near:
        raise Violation("transition time", f"{name} flipped at {now}, and says {said}")


class OwnWrites:
    """A process that has received its own write does not write the same object as if it did not know."""

    def __init__(self) -> None:
        self._told: dict[tuple[int, str], int] = {}  # (life, object) → version of its last write

    def check(self, write: Write) -> None:
        place = (write.life, write.object_path)
        based_on = _based_on(write)
        told = self._told.get(place, 0)
        judged = write.took_effect or write.code == 409  # others show nothing of what the object was like
        if based_on and based_on < told and write.method == "PATCH" and judged:
            words = f"{write.method} {write.path} is based on version {based_on}, after our own write made {told}"
            raise Violation("own writes", words)
        if write.took_effect and write.fault is None and write.method in ("POST", "PATCH"):
            self._told[place] = int(write.answer["metadata"]["resourceVersion"])


def _based_on(write: Write) -> int:
    found = VERSION.search(write.body)
    return int(found[1]) if found else 0


VERSION = re.compile(rb'"resourceVersion":"(\d+)"')


def check_purity(impure: Iterable[str]) -> None:
    if found := sorted(set(impure)):
        raise Violation("pure reconciles", "; ".join(found))


def check_record(world: World) -> None:
    """Over the whole run: bounded retries that honour Retry-After, and no writing back and forth."""
    tries = Counter(write.target for write in world.writes)
    most = MOST_TRIES * (1 + world.befallen.count(Fault.HALF_OPEN))  # an hour and more without news
    for (method, path), count in tries.items():
        if count > most:
            raise Violation("bounded retries", f"{method} {path} was sent {count} times")
    check_purity(world.impure)
    _retry_after(world.writes)
    _ping_pong(world)


def check_secrets(world: World, logs: str) -> None:
    """A secret in a remote's message has not reached status, events, logs or metrics."""
    for write in world.writes:
        if CANARY.encode() in write.body:
            raise Violation("no secret", f"{write.method} {write.path} carries one")
        if len(write.body) > LARGEST_WRITE:
            raise Violation("bounded words", f"{write.method} {write.path} has {len(write.body)} bytes")
    if CANARY in logs:
        line = next(line for line in logs.splitlines() if CANARY in line)
        raise Violation("no secret", f"a log line carries one: {line}")
    if CANARY in world.metrics():
        raise Violation("no secret", "a metric carries one")


def _retry_after(writes: list[Write]) -> None:
    for number, write in enumerate(writes):
        if write.code != 429:
            continue
        for later in writes[number + 1 :]:
            same = later.life == write.life and later.target == write.target
            if same and later.time < write.time + 3 - 1e-6 and later.number > write.number:
                raise Violation(
                    "retry after", f"{write.path} was told to wait 3 s, and waited {later.time - write.time:.3f}"
                )


def _ping_pong(world: World) -> None:
    """The same body again and again between two acts of the user is a conflict of writers."""
    bodies: Counter[tuple[str, str, bytes, int]] = Counter()
    acts = world.acts
    for write in world.writes:
        if not write.took_effect or write.method == "DELETE":
            continue
        if write.method == "POST" and {Fault.HALF_OPEN, Fault.RESTART} & {*world.befallen}:
            # Children of an owner that is gone while its watch is idle, or comes back later than the others after a
            # restart of the API server: they are made at a backoff, and garbage collected each time.
            continue
        act = sum(1 for time in acts if time <= write.time)
        content = strip_versions(write.body)
        bodies[(write.method, write.path, content, act)] += 1
        if bodies[(write.method, write.path, content, act)] > 2 + len(world.befallen) + world.lives:
            raise Violation("ping-pong", f"{write.method} {write.path} wrote the same again and again")


def strip_versions(body: bytes) -> bytes:
    """A body without the version it was based on."""
    marker = b'"resourceVersion":"'
    start = body.find(marker)
    if start < 0:
        return body
    end = body.find(b'"', start + len(marker))
    return body[:start] + body[end:]
