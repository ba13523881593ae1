"""What was claimed and what clients saw, and the difference.

- late: a condition is True although its client has failed for longer than the shelf life, counted from the client's
  first failure, or from when statuses could be written again. Beyond `TOLERANCE` it is a false True.
- false_false: a condition is not True although its client has succeeded for longer than the shelf life. Unknown is
  right while a fault keeps the product from asking.
- removed: what clients use of a status vanished in an outage, or a client fails whom the outage does not concern.
- flaps: a condition changed on an object that no fault touched.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.witness.api import Json, Key, key_of
from tests.witness.claims import Claim, conditions, published
from tests.witness.clients import Answer
from tests.witness.windows import SETTLE, Windows

TOLERANCE = 1.0
SEEN = 3.0  # seconds until a client at work has seen what a new status is about
FIRST = 60.0  # seconds in which a new object may come to be True
COUNTED = {"WorkloadExposure": {"Ready", "Available"}}  # conditions whose changes are flaps; of other kinds all


@dataclass(frozen=True)
class Change:
    at: float
    status: str
    text: str  # reason and message


@dataclass
class Course:
    """One condition of one object over time, the oldest change first."""

    changes: list[Change] = field(default_factory=list)

    def at(self, when: float) -> Change | None:
        return next((change for change in reversed(self.changes) if change.at <= when), None)

    def constant(self, begin: float, end: float) -> Change | None:
        """What it was all the time between, if it was the same."""
        first, last = self.at(begin), self.at(end)
        return last if first and last and first.status == last.status and self._changes(begin, end) == 0 else None

    def _changes(self, begin: float, end: float) -> int:
        return sum(1 for change in self.changes if begin < change.at <= end)

    def was_true(self) -> bool:
        return any(change.status == "True" for change in self.changes)


@dataclass
class Sight:
    """What the clients of one claim saw: since when they fail, or succeed, without a break."""

    failing: float | None = None
    good: float | None = None
    last: Answer | None = None
    failures: list[float] = field(default_factory=list)  # when each failed attempt began

    def failed(self, begin: float, end: float) -> bool:
        return any(begin <= moment <= end for moment in self.failures)

    def add(self, answer: Answer) -> None:
        if answer.good:
            self.failing, self.good = None, self.good or answer.ended
        else:
            self.good, self.failing = None, self.failing or answer.began
            self.failures.append(answer.began)
        self.last = answer


@dataclass(frozen=True)
class Finding:
    kind: str
    at: float
    key: Key
    condition: str
    text: str


@dataclass
class Counts:
    checks: int = 0
    false_true: int = 0
    late: float = 0.0
    false_false: int = 0
    removed: int = 0
    flaps: int = 0


class Ledger:
    """Fed by watches (`seen`) and by clients (`answered`), from many threads. `report` gets each finding once."""

    def __init__(self, windows: Windows, report: Callable[[Finding], None]) -> None:
        self.windows = windows
        self.counts = Counts()
        self.courses: dict[tuple[Key, str], Course] = defaultdict(Course)
        self.sights: dict[tuple[Key, str], Sight] = defaultdict(Sight)
        self.objects: dict[Key, Json] = {}
        self.latest: dict[tuple[Key, str], float] = {}  # the longest time beyond the shelf life
        self.findings: list[Finding] = []
        self._since: dict[Key, float] = {}  # when it was first seen, or its spec last changed
        self._open: set[tuple[str, Key, str, float]] = set()  # episodes that were reported
        self._report = report
        self._lock = threading.RLock()

    # ---- what is claimed

    def seen(self, obj: Json, deleted: bool, at: float | None = None) -> bool:
        """Takes an object as it is now. True: one of its conditions changed."""
        at, key = time.monotonic() if at is None else at, key_of(obj)
        with self._lock:
            before = self.objects.get(key)
            self._published(key, before, None if deleted else obj, at)
            if deleted:
                self._forget(key)
                return False
            if before is None or before["metadata"].get("generation") != obj["metadata"].get("generation"):
                self._since[key] = at
            self.objects[key] = obj
            changed = [self._condition(key, one, at) for one in conditions(obj)]
            return any(changed)

    def _condition(self, key: Key, condition: Json, at: float) -> bool:
        course = self.courses[key, condition["type"]]
        change = Change(at, condition["status"], f"{condition.get('reason')}: {condition.get('message')}")
        last = course.changes[-1] if course.changes else None
        if last is not None and last.status == change.status:
            course.changes[-1] = Change(last.at, last.status, change.text)
            return False
        course.changes.append(change)
        counted = condition["type"] in COUNTED.get(key[0], {condition["type"]})
        settled = at - self._since.get(key, at) > FIRST or course.was_true()
        if last is not None and settled and counted and last.status + change.status != "UnknownTrue":
            self._flapped(key, condition["type"], last, change)
        return True

    def _flapped(self, key: Key, condition: str, last: Change, change: Change) -> None:
        if change.at - self._since.get(key, change.at) < FIRST and change.status == "True":
            return
        if not self.windows.touching(key, change.at, SETTLE):
            self.counts.flaps += 1
            text = f"{last.status} ({last.text}) -> {change.status} ({change.text}); no fault touched it"
            self._found("flap", key, condition, text, change.at)

    def _published(self, key: Key, before: Json | None, after: Json | None, at: float) -> None:
        if (
            before is None
            or before["metadata"].get("deletionTimestamp")
            or (after is None and key[0] != "BoundEndpoint")
        ):
            return
        was = published(before) or ({"object": key[2]} if key[0] == "BoundEndpoint" else {})
        now = {} if after is None else (published(after) or was)
        for name, value in was.items():
            if value and not now.get(name):
                self._vanished(key, f"{name} {value} vanished", at)

    def _vanished(self, key: Key, text: str, at: float) -> None:
        around = self.windows.touching(key, at, SETTLE)
        if any(not window.outage for window in around):
            return  # its own fault: the product may well withdraw it
        self.counts.removed += 1
        names = ", ".join(window.name for window in around) or "no fault"
        self._found("removed", key, "", f"{text}, during: {names}", at)

    def _forget(self, key: Key) -> None:
        self.objects.pop(key, None)
        self._since.pop(key, None)
        for table in (self.courses, self.sights):
            for entry in [entry for entry in table if entry[0] == key]:
                del table[entry]

    # ---- what clients see

    def answered(self, claim: Claim, key: Key, answer: Answer) -> None:
        with self._lock:
            if key not in self.objects:
                return
            self.counts.checks += 1
            sight, was_good = self.sights[key, claim.condition], self.sights[key, claim.condition].good is not None
            sight.add(answer)
            leaving = "deletionTimestamp" in self.objects[key]["metadata"]  # only a True is judged any more
            if was_good and not answer.good and not leaving:
                self._broken(claim, key, answer)
            state = self.courses[key, claim.condition].constant(answer.began, answer.ended)
            writing = self.windows.writing_since(answer.began)
            if state is None or writing is None:
                return
            if state.status == "True" and sight.failing is not None:
                self._late(claim, key, max(sight.failing, writing), answer, state)
            elif state.status != "True" and claim.denies and sight.good is not None and not leaving:
                base = max(sight.good, writing, self._since[key])
                self._denied(claim, key, base, answer, state)

    def _late(self, claim: Claim, key: Key, base: float, answer: Answer, state: Change) -> None:
        late = answer.began - base - claim.shelf
        self.counts.late = max(self.counts.late, late)
        if late > 0:
            self.latest[key, claim.condition] = max(late, self.latest.get((key, claim.condition), 0.0))
        if late > TOLERANCE and self._first("false_true", key, claim.condition, base):
            self.counts.false_true += 1
            names = ", ".join(window.name for window in self.windows.touching(key, answer.began, 5.0)) or "no fault"
            text = f"True ({state.text}) although a client fails for {answer.began - base:.1f} s: {answer.detail}"
            self._found("false_true", key, claim.condition, f"{text}; during: {names}", answer.began)

    def _denied(self, claim: Claim, key: Key, base: float, answer: Answer, state: Change) -> None:
        if answer.began - base <= claim.shelf or answer.began - state.at <= SEEN:
            return
        around = self.windows.touching(key, answer.began, claim.shelf)
        if state.status == "Unknown" and around:
            return
        self.counts.false_false += 1
        if self._first("false_false", key, claim.condition, base):
            text = f"{state.status} ({state.text}) although a client succeeds for {answer.began - base:.1f} s"
            names = ", ".join(window.name for window in around) or "no fault"
            self._found("false_false", key, claim.condition, f"{text}: {answer.detail}; during: {names}", answer.began)

    def _broken(self, claim: Claim, key: Key, answer: Answer) -> None:
        around = [*self.windows.touching(key, answer.began, after=10.0), *self.windows.touching(key, answer.ended)]
        if around and all(window.outage and claim.family not in window.breaks for window in around):
            self.counts.removed += 1
            names = ", ".join(sorted({window.name for window in around}))
            self._found(
                "removed", key, claim.condition, f"a client fails: {answer.detail}; during: {names}", answer.began
            )

    # ---- findings

    def _first(self, kind: str, key: Key, condition: str, base: float) -> bool:
        episode = (kind, key, condition, base)
        known = episode in self._open
        self._open.add(episode)
        return not known

    def _found(self, kind: str, key: Key, condition: str, text: str, at: float) -> None:
        finding = Finding(kind, at, key, condition, text)
        self.findings.append(finding)
        self._report(finding)
