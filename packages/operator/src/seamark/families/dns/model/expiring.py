"""What a provider answered, each answer with the moment from which the provider is asked again. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
GOLDEN = 0.6180339887498949  # multiples of it, without their whole part, are spread evenly


@dataclass(frozen=True, slots=True)
class Pauses:
    """How long an answer keeps: a refusal from `first` to `most` seconds, doubled each time; any other for `keeps`."""

    first: float = 1.0
    most: float = 30.0
    keeps: float = 300.0

    def after(self, refusals: int) -> float:
        """The pause after `refusals` in a row; 0 for an answer that is not a refusal."""
        return min(self.most, self.first * 2.0 ** min(refusals - 1, 30)) if refusals else self.keeps


@dataclass(frozen=True, slots=True)
class _Answer(Generic[V]):
    value: V
    due: float
    refusals: int


class Expiring(Mapping[K, V], Generic[K, V]):
    """The last answer about each key.

    - Every response expires, refusals included: no refusal of a provider is permanent.
    - An expired response counts until the next one: the status does not change in between.
    - `expire` moves the answers whose time has come to `expired`, the oldest first; a new answer takes its key out.
    - At most `most` answers are kept; beyond that the oldest are forgotten.
    """

    def __init__(self, most: int, pauses: Pauses | None = None) -> None:
        self._most = most
        self._pauses = pauses or Pauses()
        self._answers: dict[K, _Answer[V]] = {}  # in the order in which they came
        self._due: list[tuple[float, int, K]] = []  # a heap; entries of answers that were replaced are skipped
        self._number = 0
        self.expired: dict[K, None] = {}  # keys of `_answers` to ask about again

    def put(self, key: K, value: V, now: float, *, refused: bool, share: float = 1.0) -> None:
        """A new answer. Its pause is `share` times as long on average, spread so that not all expire at once."""
        before = self._answers.pop(key, None)
        self.expired.pop(key, None)
        refusals = (before.refusals if before is not None else 0) + 1 if refused else 0
        self._number += 1
        spread = 2.0 * (share - 1.0) * (self._number * GOLDEN % 1.0)
        due = now + self._pauses.after(refusals) * (1.0 + spread)
        self._answers[key] = _Answer(value, due, refusals)
        heappush(self._due, (due, self._number, key))
        while len(self._answers) > self._most:
            self.forget(next(iter(self._answers)))

    def forget(self, key: K) -> None:
        self._answers.pop(key, None)
        self.expired.pop(key, None)

    def expire(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            due, _, key = heappop(self._due)
            answer = self._answers.get(key)
            if answer is not None and answer.due == due:
                self.expired[key] = None

    def expire_refusals(self) -> None:
        """Something was accepted that had been refused: the others are worth another try."""
        for key, answer in self._answers.items():
            if answer.refusals:
                self.expired[key] = None

    @property
    def next(self) -> float:
        """When the next answer expires; it may be one that was replaced."""
        return self._due[0][0] if self._due else float("inf")

    def __getitem__(self, key: K) -> V:
        return self._answers[key].value

    def __contains__(self, key: object) -> bool:
        return key in self._answers

    def __iter__(self) -> Iterator[K]:
        return iter(self._answers)

    def __len__(self) -> int:
        return len(self._answers)
