"""Conditions: declared once, judged without a clock, stamped by the loop.

- A `ConditionType` lists every reason it may give, with what it means; an undeclared reason is a programming error.
- A judged condition has no time and no generation. `stamp` adds the generation that was judged, and a transition
  time that moves only when the status flips.
- `not_yet`: no response so far. A condition already written for this generation then stays, so a restart withdraws
  nothing; the status writer ends that after one shelf life.
- `unverified`: those who know can't be asked. Unknown, with the time since when in the message. While that lasts the
  message stays as it is, whatever the error of a retry, and also over a restart.
- `worst_of` sums up: False before Unknown before True, in the order given.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec

from seamark_runtime.api.meta import Condition
from seamark_runtime.redaction import redact
from seamark_runtime.untrusted.patterns import Pattern

TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"
LONGEST_MESSAGE = 32_768
LEGAL_REASON = Pattern(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
C = TypeVar("C", bound=Condition)
NEVER = "1970-01-01T00:00:00Z"  # in the first statement, which a CRD's default makes before anybody has looked


class Awaited(Condition, frozen=True, kw_only=True, omit_defaults=False):
    """Unknown because there is no response yet: a condition already written for this generation takes precedence.

    A summary of such parts (their types are in `parts`) is made again when it is known what stands of them; where it
    does not follow them in the status, it gives way only if there is no `finding` among them. `lasting` is the reason
    of an Unknown that takes precedence, too; with `since` this condition is one (`Unverified`) where nothing does.
    """

    lasting: str = ""
    keeps: float = float("inf")
    since: bool = False
    error: str = ""
    parts: tuple[str, ...] = ()
    otherwise: tuple[str, str] = ("", "")
    finding: bool = False


class Unverified(Condition, frozen=True, kw_only=True, omit_defaults=False):
    """Unknown because those who know can't be asked. Stamped with the time since when, and followed by the error."""

    error: str = ""


@dataclass(frozen=True)
class ConditionType:
    """One aspect of an object. `summary` marks the one that sums up the others and whose flips become events."""

    name: str
    meaning: str
    reasons: Mapping[str, str]  # reason → what it means to a user
    summary: bool = False
    awaiting: str = "Pending"  # the reason of the first statement, before anybody has looked
    first_message: str = "Waiting for the controller"
    lasting: str = "NotVerified"  # the reason of `unverified`
    shelf_life: float = float("inf")  # seconds that it stays after a restart, if less than that of its controller

    def __post_init__(self) -> None:
        for reason in (*self.reasons, self.awaiting):
            if not LEGAL_REASON.fullmatch(reason):
                raise ValueError(f"{self.name}: the reason {reason!r} is not legal, and no API server would take it")

    def true(self, reason: str, message: str = "") -> Condition:
        return self._condition(Condition, TRUE, reason, message)

    def false(self, reason: str, message: str) -> Condition:
        return self._condition(Condition, FALSE, reason, message)

    def unknown(self, reason: str, message: str) -> Condition:
        return self._condition(Condition, UNKNOWN, reason, message)

    def not_yet(self, reason: str, message: str) -> Condition:
        awaited = self._condition(Awaited, UNKNOWN, reason, message)
        return msgspec.structs.replace(awaited, lasting=self.lasting, keeps=self.shelf_life)

    def unverified(self, message: str, error: str = "", *, at_once: bool = False) -> Condition:
        """Those who know can't be asked. What was written before a restart stays for its shelf life, if not `at_once`.

        `message` is a sentence that a time can follow: "The edge has not confirmed the address".
        """
        if at_once:
            return msgspec.structs.replace(self._condition(Unverified, UNKNOWN, self.lasting, message), error=error)
        awaited = self._condition(Awaited, UNKNOWN, self.lasting, message)
        return msgspec.structs.replace(awaited, lasting=self.lasting, keeps=self.shelf_life, since=True, error=error)

    def worst_of(self, *parts: Condition, otherwise: tuple[str, str]) -> Condition:
        """The worst part's own reason and words; `otherwise` (reason, message) when all are True."""
        good = self.true(*otherwise)
        part = worst(parts)
        if part is None:
            return good
        if part.status == FALSE or not any(isinstance(part, Awaited | Unverified) for part in parts):
            return self._condition(Condition, part.status, part.reason, part.message, declared=False)
        awaited = self._condition(Awaited, part.status, part.reason, part.message, declared=False)
        types = tuple(part.type for part in parts)
        finding = not isinstance(part, Awaited)
        return msgspec.structs.replace(
            awaited, parts=types, otherwise=(good.reason, good.message), finding=finding, lasting=self.lasting
        )

    def _condition(self, shape: type[C], status: str, reason: str, message: str, *, declared: bool = True) -> C:
        if declared and reason not in self.reasons:
            raise ValueError(f"{self.name} has no reason {reason}: declare it with its meaning")
        message = redact(message, LONGEST_MESSAGE)
        return shape(type=self.name, status=status, reason=reason, message=message, last_transition_time="")


@dataclass(frozen=True)
class Stamp:
    """Completes judged conditions: the generation, the time, and whether a previous condition is kept."""

    generation: int | None  # None for kinds that have none, as Services
    time: str
    awaiting_stands: bool = True
    kept: list[str] = field(default_factory=list, compare=False)  # the types for which the old word stood
    running: float = 0.0  # seconds since this process leads
    _keeps: list[float] = field(default_factory=list, compare=False)  # for `kept`: how long each may stand

    @property
    def shortest(self) -> float:
        """The seconds after which the first of the conditions that are kept expires."""
        return min(self._keeps, default=float("inf")) - self.running

    def on(self, judged: Iterable[Condition], before: Iterable[Condition]) -> tuple[Condition, ...]:
        known = {condition.type: condition for condition in before}
        stamped: dict[str, Condition] = {}
        for condition in judged:
            stamped[condition.type] = self._stamped(condition, known.get(condition.type), stamped)
        return tuple(stamped.values())

    def _stamped(self, judged: Condition, before: Condition | None, stamped: Mapping[str, Condition]) -> Condition:
        if isinstance(judged, Awaited) and judged.parts and all(part in stamped for part in judged.parts):
            judged = _summed_up(judged, [stamped[part] for part in judged.parts])
        if isinstance(judged, Awaited):
            if before is not None and self.awaiting_stands and not judged.finding and self._stands(before, judged):
                self.kept.append(judged.type)
                if before.status != UNKNOWN:
                    self._keeps.append(judged.keeps)
                return before
            judged = _without_answer(judged)
        if isinstance(judged, Unverified):
            judged = self._since(judged, before)
        flipped = before is None or before.status != judged.status or before.last_transition_time in ("", NEVER)
        time = self.time if flipped or before is None else before.last_transition_time
        return msgspec.structs.replace(judged, last_transition_time=time, observed_generation=self.generation)

    def _stands(self, before: Condition, judged: Awaited) -> bool:
        """Whether a condition says more than that there is no response yet."""
        if before.status == UNKNOWN:
            return self._is_ours(before) and before.reason == judged.lasting
        return self._is_ours(before) and self.running < judged.keeps

    def _is_ours(self, before: Condition) -> bool:
        return before.observed_generation == self.generation

    def _since(self, judged: Unverified, before: Condition | None) -> Condition:
        """The time is that of the transition, which stays; so does the message, while the cause is the same."""
        unknown = before is not None and before.status == UNKNOWN and before.last_transition_time not in ("", NEVER)
        if before is not None and unknown and before.reason == judged.reason:
            return _plain(judged, UNKNOWN, judged.reason, before.message)
        time = before.last_transition_time if before is not None and unknown else self.time
        cause = f": {judged.error}" if judged.error else ""
        message = redact(f"{judged.message} since {time}{cause}", LONGEST_MESSAGE)
        return _plain(judged, UNKNOWN, judged.reason, message)


def worst(parts: Iterable[Condition]) -> Condition | None:
    """The first False, else the first Unknown that is a finding, else the first that is awaited; None: all are True."""
    bad = [part for part in parts if part.status != TRUE]
    return min(bad, key=lambda part: (part.status != FALSE, isinstance(part, Awaited)), default=None)


def _summed_up(summary: Awaited, parts: Iterable[Condition]) -> Condition:
    part = worst(parts)
    if part is None:
        return _plain(summary, TRUE, *summary.otherwise)
    return _plain(summary, part.status, part.reason, part.message)


def _without_answer(judged: Awaited) -> Condition:
    if judged.since:
        return Unverified(
            type=judged.type,
            status=UNKNOWN,
            reason=judged.reason,
            message=judged.message,
            last_transition_time="",
            error=judged.error,
        )
    return _plain(judged, judged.status, judged.reason, judged.message)


def _plain(condition: Condition, status: str, reason: str, message: str) -> Condition:
    return Condition(type=condition.type, status=status, reason=reason, message=message, last_transition_time="")


ConditionMap = Mapping[tuple[Hashable, str], Condition]  # (which entry of the status, condition type) → condition


def flips(before: ConditionMap, after: ConditionMap) -> list[tuple[Condition | None, Condition]]:
    """Pairs (old, new) of conditions whose status changed."""
    pairs = ((before.get(place), condition) for place, condition in after.items())
    return [(old, new) for old, new in pairs if old is None or old.status != new.status]


def still_true(before: ConditionMap, after: ConditionMap) -> bool:
    """Whether everything that was published as True still is, or is about an older generation."""
    for place, condition in before.items():
        if condition.status != TRUE:
            continue
        successor = after.get(place)
        if successor is None:
            return False
        if successor.status != TRUE and successor.observed_generation == condition.observed_generation:
            return False
    return True
