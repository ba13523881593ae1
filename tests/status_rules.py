"""The numbered rules of trustworthy status (docs/spec/status-rules.md), for all tests.

- `check(history)` runs every rule on the states of one object, in the order in which they were seen. States of
  another uid are another object; a None is a gap, in which states may have been missed.
- A rule gets a state and the one before it (None for the first), as the API server sent them.
- `ours` names the condition types that the controller under test is responsible for; without it, all are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple

Json = dict[str, Any]
NEVER = "1970-01-01T00:00:00Z"  # of the statement that a CRD's default makes before anybody has looked
TYPE = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
REASON = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
NUMBER = re.compile(  # an amount, count or duration; no port, address, code of an answer, part of a name or version
    r"(?<![\w./:@-])(?<!port )(?<!answered )(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h|d)?)+(?![\w/:@-]|\.\w)"
)
NEGATIVE = ("Reconciling", "Stalled", "Draining")  # True is bad news, by kstatus' convention
IDENTITY = ("parentRef", "ancestorRef", "controllerName", "name")


class Violation(NamedTuple):
    rule: int
    words: str
    version: str

    def __str__(self) -> str:
        return f"rule {self.rule} at version {self.version}: {self.words}"


@dataclass(frozen=True)
class State:
    """One state of an object, with its conditions found wherever they are in the status."""

    raw: Json
    ours: frozenset[str] | None = None

    @property
    def status(self) -> Json:
        return self.raw.get("status") or {}

    @property
    def metadata(self) -> Json:
        meta: Json = self.raw["metadata"]
        return meta

    @property
    def generation(self) -> int:
        return int(self.metadata.get("generation", 0))

    def lists(self) -> dict[str, list[Json]]:
        """Every list of conditions: that of the object itself is "", those of entries go by their entry."""
        return self._lists

    def conditions(self) -> dict[tuple[str, str], Json]:
        return self._conditions

    @cached_property
    def _lists(self) -> dict[str, list[Json]]:
        return dict(_condition_lists(self.status, ""))

    @cached_property
    def _conditions(self) -> dict[tuple[str, str], Json]:
        found = {}
        for place, conditions in self.lists().items():
            for condition in conditions:
                if self.ours is None or condition.get("type") in self.ours:
                    found[(place, str(condition.get("type")))] = condition
        return found

    def summary(self) -> Json | None:
        return next((c for c in self.status.get("conditions") or () if c.get("type") == "Ready"), None)


def _condition_lists(value: Any, place: str) -> Iterator[tuple[str, list[Json]]]:
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if key == "conditions" and isinstance(inner, list):
            yield place, inner
        elif isinstance(inner, list):
            for index, entry in enumerate(inner):
                yield from _condition_lists(entry, f"{place}/{key}/{_name(entry, index)}")
        else:
            yield from _condition_lists(inner, f"{place}/{key}")


def _name(entry: Any, index: int) -> str:
    known = {key: entry[key] for key in IDENTITY if key in entry} if isinstance(entry, dict) else {}
    return json.dumps(known, sort_keys=True) if known else str(index)


def kstatus(obj: Json) -> str:
    """What kstatus (Flux, Argo CD, kpt) makes of an object."""
    status = obj.get("status") or {}
    metadata = obj["metadata"]
    conditions = {c.get("type"): c.get("status") for c in status.get("conditions") or ()}
    if metadata.get("deletionTimestamp"):
        return "Terminating"
    if "observedGeneration" in status and status["observedGeneration"] != metadata.get("generation"):
        return "InProgress"
    if conditions.get("Reconciling") == "True":
        return "InProgress"
    if conditions.get("Stalled") == "True":
        return "Failed"
    return "Current" if conditions.get("Ready", "True") == "True" else "InProgress"


Rule = Callable[[State, State | None], Iterable[str]]
RULES: dict[int, tuple[str, Rule]] = {}


def rule(number: int, words: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        assert number not in RULES, f"rule {number} is there twice"
        RULES[number] = (words, function)
        return function

    return register


def check(history: Sequence[Json | None], *, ours: Iterable[str] | None = None) -> list[Violation]:
    """Everything that is wrong with a history of one name, by rule."""
    names = None if ours is None else frozenset(ours)
    found: list[Violation] = []
    before: State | None = None
    for raw in history:
        now = None if raw is None else State(raw, names)
        if now is not None:
            found += step(now, before)
        before = now
    return found


def step(now: State, before: State | None) -> list[Violation]:
    """What is wrong with a state that follows another one, which has had its turn."""
    if before is not None and before.metadata.get("uid") != now.metadata.get("uid"):
        before = None
    version = str(now.metadata.get("resourceVersion", "?"))
    return [
        Violation(number, words, version) for number, (_, function) in RULES.items() for words in function(now, before)
    ]


def _first_statement(condition: Json) -> bool:
    return condition.get("lastTransitionTime") == NEVER and condition.get("status") == "Unknown"


# ---- the shape of a condition (Kubernetes API conventions)


@rule(1, "A condition has type, status, reason, message and lastTransitionTime.")
def _complete(now: State, _before: State | None) -> Iterator[str]:
    for (_, name), condition in now.conditions().items():
        for field in ("type", "status", "reason", "message", "lastTransitionTime"):
            if field not in condition:
                yield f"{name} has no {field}"


@rule(2, "A condition's type is a legal name of at most 316 characters.")
def _type(now: State, _before: State | None) -> Iterator[str]:
    for _, name in now.conditions():
        if len(name) > 316 or not TYPE.fullmatch(name):
            yield f"the type {name[:80]!r} is not legal"


@rule(3, "A condition's status is True, False or Unknown.")
def _status(now: State, _before: State | None) -> Iterator[str]:
    for (_, name), condition in now.conditions().items():
        if condition.get("status") not in ("True", "False", "Unknown"):
            yield f"{name} is {condition.get('status')!r}"


@rule(4, "A condition's reason is a single identifier of at most 1024 characters, and never empty.")
def _reason(now: State, _before: State | None) -> Iterator[str]:
    for (_, name), condition in now.conditions().items():
        reason = str(condition.get("reason", ""))
        if len(reason) > 1024 or not REASON.fullmatch(reason):
            yield f"the reason {reason[:80]!r} of {name} is not legal"


@rule(5, "A condition's message has at most 32768 characters, and is not empty unless the condition is True.")
def _message(now: State, _before: State | None) -> Iterator[str]:
    for (_, name), condition in now.conditions().items():
        message = str(condition.get("message", ""))
        if len(message) > 32768:
            yield f"the message of {name} has {len(message)} characters"
        if not message and condition.get("status") != "True":
            yield f"{name} is {condition.get('status')} and does not say why"


@rule(6, "A type occurs once in a list of conditions.")
def _unique(now: State, _before: State | None) -> Iterator[str]:
    for conditions in now.lists().values():
        names = [condition.get("type") for condition in conditions]
        for name in sorted({str(name) for name in names if names.count(name) > 1}):
            yield f"{name} stands {names.count(name)} times"


@rule(7, "There is no phase: a status is observations, not a state machine.")
def _phase(now: State, _before: State | None) -> Iterator[str]:
    if "phase" in now.status:
        yield f"the phase is {now.status['phase']!r}"


# ---- times


@rule(8, "A transition time is RFC 3339 to the second, in UTC.")
def _time(now: State, _before: State | None) -> Iterator[str]:
    for (_, name), condition in now.conditions().items():
        if not TIME.fullmatch(str(condition.get("lastTransitionTime", ""))):
            yield f"{name} has the time {condition.get('lastTransitionTime')!r}"


@rule(9, "A transition time moves only when the status flips.")
def _moves(now: State, before: State | None) -> Iterator[str]:
    known = before.conditions() if before else {}
    for place, condition in now.conditions().items():
        old = known.get(place)
        if old is None or _first_statement(old) or old.get("status") != condition.get("status"):
            continue
        if old.get("lastTransitionTime") != condition.get("lastTransitionTime"):
            yield f"{place[1]} stayed {condition.get('status')}, but its time moved"


@rule(10, "A transition time never goes back.")
def _goes_back(now: State, before: State | None) -> Iterator[str]:
    known = before.conditions() if before else {}
    for place, condition in now.conditions().items():
        old = known.get(place)
        if old is not None and str(condition.get("lastTransitionTime")) < str(old.get("lastTransitionTime")):
            yield f"{place[1]} went from {old.get('lastTransitionTime')} back to {condition.get('lastTransitionTime')}"


@rule(11, "No condition changed before the object was created: nothing is inherited from an older namesake.")
def _born(now: State, _before: State | None) -> Iterator[str]:
    born = now.metadata.get("creationTimestamp")
    if not born:
        return
    for (_, name), condition in now.conditions().items():
        time = str(condition.get("lastTransitionTime", ""))
        if time != NEVER and TIME.fullmatch(time) and _moment(time) < _moment(born):
            yield f"{name} changed at {time}, before the object was made at {born}"


def _moment(time: str) -> datetime:
    return datetime.fromisoformat(time)


# ---- generations


@rule(12, "Every condition names the generation it was observed for, from the first reconcile on.")
def _generation(now: State, _before: State | None) -> Iterator[str]:
    for (_, name), condition in now.conditions().items():
        if "observedGeneration" not in condition and not _first_statement(condition):
            yield f"{name} has no observedGeneration"


@rule(13, "An observedGeneration is never ahead of the generation.")
def _ahead(now: State, _before: State | None) -> Iterator[str]:
    for name, observed in _observed(now).items():
        if observed > now.generation:
            yield f"{name or 'the status'} speaks of generation {observed}, the object is at {now.generation}"


@rule(14, "An observedGeneration never goes back.")
def _back(now: State, before: State | None) -> Iterator[str]:
    known = _observed(before) if before else {}
    for name, observed in _observed(now).items():
        if observed < known.get(name, 0):
            yield f"{name or 'the status'} went from generation {known[name]} back to {observed}"


@rule(15, "A status write is about one generation: on the status and on every condition of that writer.")
def _together(now: State, before: State | None) -> Iterator[str]:
    observed = now.status.get("observedGeneration")
    if observed is None or before is None or before.status.get("observedGeneration") == observed:
        return
    others = _of_other_writers(now)
    for (place, name), condition in now.conditions().items():
        if (place or name not in others) and condition.get("observedGeneration", observed) != observed:
            yield f"the status speaks of generation {observed}, {name} of {condition['observedGeneration']}"


def _of_other_writers(now: State) -> set[str]:
    """Conditions of writers who do not own `observedGeneration`: each of those names its own generation."""
    owned: dict[bool, set[str]] = {True: set(), False: set()}
    for entry in now.metadata.get("managedFields") or ():
        fields = entry.get("fieldsV1", {}).get("f:status", {})
        types = {json.loads(key[2:])["type"] for key in fields.get("f:conditions", {}) if key.startswith("k:")}
        owned["f:observedGeneration" in fields] |= types
    return owned[False] - owned[True]


@rule(16, "A status write leaves nothing True that was not observed for the present generation.")
def _fresh_truth(now: State, before: State | None) -> Iterator[str]:
    if before is None or before.generation != now.generation or before.status == now.status:
        return
    known = before.conditions()
    for place, condition in now.conditions().items():
        untouched = known.get(place) == condition  # a write of another writer, about other conditions
        if condition.get("status") == "True" and not untouched:
            observed = condition.get("observedGeneration")
            if observed != now.generation:
                yield f"{place[1]} was said to be True of generation {observed}, the object is at {now.generation}"


def _observed(state: State) -> dict[str, int]:
    conditions = state.conditions().items()
    found = {f"{place}{name}": c["observedGeneration"] for (place, name), c in conditions if "observedGeneration" in c}
    if "observedGeneration" in state.status:
        found[""] = state.status["observedGeneration"]
    return found


# ---- what readers make of it (kstatus, kubectl wait, Flux)


@rule(17, "A new object is never Current to kstatus: it was not reconciled yet.")
def _birth(now: State, before: State | None) -> Iterator[str]:
    conditions = now.conditions().values()
    untouched = all(_first_statement(condition) for condition in conditions)
    if before is None and untouched and kstatus(now.raw) == "Current":
        yield "it is Current, and nobody has looked"


@rule(18, "Current to kstatus means Ready, for the present generation.")
def _current(now: State, _before: State | None) -> Iterator[str]:
    ready = now.summary()
    if kstatus(now.raw) != "Current" or ready is None:
        return
    if ready.get("observedGeneration") != now.generation:
        yield f"it is Current, but Ready speaks of generation {ready.get('observedGeneration')}"


@rule(19, "Ready is not True while another condition is False or Unknown, or while Reconciling, Stalled or Draining.")
def _summary(now: State, _before: State | None) -> Iterator[str]:
    ready = now.summary()
    if ready is None or ready.get("status") != "True" or (now.ours is not None and "Ready" not in now.ours):
        return  # a writer of parts does not write the summary
    for (place, name), condition in now.conditions().items():
        bad = "True" if name in NEGATIVE else ("False", "Unknown")
        if not place and condition.get("status") in bad and name != "Ready":
            yield f"Ready is True while {name} is {condition.get('status')}"


@rule(20, "Reconciling and Stalled are not True at once.")
def _both(now: State, _before: State | None) -> Iterator[str]:
    conditions = {c.get("type"): c.get("status") for c in now.lists().get("", [])}
    if all(conditions.get(name) == "True" for name in ("Reconciling", "Stalled")):
        yield "it is Reconciling and Stalled"


@rule(21, "A condition that was written once is not removed without a replacement.")
def _withdrawn(now: State, before: State | None) -> Iterator[str]:
    if before is None or now.metadata.get("deletionTimestamp"):
        return
    for place, name in before.conditions():
        if not place and (place, name) not in now.conditions() and name not in NEGATIVE:
            yield f"{name} is gone"


@rule(22, "All conditions are there from the first state on.")
def _all_at_once(now: State, _before: State | None) -> Iterator[str]:
    own = {name for place, name in now.conditions() if not place}
    for name in sorted((now.ours or frozenset()) - own):
        yield f"{name} is missing"


# ---- messages


@rule(23, "A message that follows another for the same status and reason does not differ only in numbers.")
def _counting(now: State, before: State | None) -> Iterator[str]:
    known = before.conditions() if before else {}
    for place, condition in now.conditions().items():
        old = known.get(place)
        if old is None or any(old.get(key) != condition.get(key) for key in ("status", "reason", "observedGeneration")):
            continue
        was, message = str(old.get("message", "")), str(condition.get("message", ""))
        if was != message and NUMBER.sub("#", was) == NUMBER.sub("#", message):
            yield f"{place[1]} counts in its message: {was!r}, then {message!r}"
