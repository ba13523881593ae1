"""What came of cases: of one, and of all so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.hostile.cases import Case
from tests.hostile.schema import Field, Path
from tests.hostile.verdict import UNREPORTED, Outcome


@dataclass(frozen=True)
class Result:
    case: Case
    outcome: Outcome
    words: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.case}: {self.words}" if self.words else str(self.case)


Shown = tuple[str, str]  # a kind, and the kind beside it that shows what came of it


def shown(case: Case) -> Shown:
    return case.kind, case.base.shown_by


def judged_fields(fields: Iterable[Field], results: Iterable[Result]) -> tuple[set[tuple[str, Path]], Counter[str]]:
    """The fields with a case of which something follows, and by kind how many can have none: nothing is reported about
    a valid object of that kind, so a case says something only where it is refused or reported."""
    judged = {
        (result.case.kind, result.case.path)
        for result in results
        if not result.case.must and not (result.case.kind in UNREPORTED and result.outcome is Outcome.UNUSED)
    }
    known = {(field.kind, field.path) for field in fields}
    return known & judged, Counter(kind for kind, _ in known - judged if kind in UNREPORTED)


@dataclass
class Tally:
    """What came of all cases so far."""

    results: list[Result] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    restarts: list[str] = field(default_factory=list)
    unblamed: list[str] = field(default_factory=list)  # restarts that no case repeats
    given_up: int = 0  # cases that were not tried, as processes kept ending

    def count(self, outcome: Outcome) -> int:
        return sum(result.outcome is outcome for result in self.results)
