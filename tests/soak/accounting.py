"""What a soak counts. Pure: it is given what was seen, and when.

- lost: objects that should be ready at the end, and are not.
- leaked: what is left after everything was deleted.
- lies: an object reported as ready while the remote side was not, for longer than its evidence keeps; and every
  state that broke a rule of status.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

HOUR = 3600.0
SETTLED = 1 / 3  # of a run: before that, caches fill


@dataclass
class Doubts:
    """Objects that report ready while the remote side is not, and since when.

    - A doubt ends when either side changes its mind. One that lasts longer than the evidence may keep is one lie.
    - Times without an API server do not count: all doubts begin anew.
    """

    lies: list[str] = field(default_factory=list)
    _since: dict[Hashable, float] = field(default_factory=dict)
    _told: set[Hashable] = field(default_factory=set)

    def look(self, subject: Hashable, now: float, keeps: float, *, said: bool, true: bool) -> None:
        if not said or true:
            self._since.pop(subject, None)
            self._told.discard(subject)
            return
        since = self._since.setdefault(subject, now)
        if now - since > keeps and subject not in self._told:
            self._told.add(subject)
            self.lies.append(f"{subject} is said to be ready, and was not for {now - since:.0f} s")

    def forget(self, subject: Hashable) -> None:
        self._since.pop(subject, None)
        self._told.discard(subject)

    def begin_anew(self) -> None:
        self._since.clear()


@dataclass(frozen=True)
class Account:
    """What came of a run."""

    minutes: float
    lost: Sequence[str] = ()
    leaked: Sequence[str] = ()
    lies: Sequence[str] = ()
    rss: Sequence[tuple[float, float]] = ()  # (seconds, MB)
    idle_writes: Sequence[str] = ()

    @property
    def good(self) -> bool:
        return not (self.lost or self.leaked or self.lies or self.idle_writes)

    def words(self) -> list[str]:
        """Everything that was wrong, a line each."""
        found: Mapping[str, Sequence[str]] = {
            "lost": self.lost,
            "leaked": self.leaked,
            "lie": self.lies,
            "written at rest": self.idle_writes,
        }
        return [f"{kind}: {one}" for kind, several in found.items() for one in several]

    def line(self) -> str:
        return (
            f"soak: minutes={self.minutes:g} lost={len(self.lost)} leaked={len(self.leaked)} lies={len(self.lies)}"
            f" rss_slope_mb_per_h={slope(self.rss):.1f} idle_writes={len(self.idle_writes)}"
        )


def slope(samples: Sequence[tuple[float, float]]) -> float:
    """MB an hour: the middle of the slopes between all pairs, so that a moment of much work is no trend."""
    if not samples:
        return 0.0
    first, last = samples[0][0], samples[-1][0]
    later = [one for one in samples if one[0] >= first + (last - first) * SETTLED]
    slopes = sorted((y2 - y1) / (x2 - x1) for i, (x1, y1) in enumerate(later) for x2, y2 in later[i + 1 :] if x2 > x1)
    return slopes[len(slopes) // 2] * HOUR if slopes else 0.0
