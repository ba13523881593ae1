"""What a run comes to. Pure: a function of what was seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tests.hostile.results import Result, Tally
from tests.hostile.verdict import Outcome

STALL_MS, BLOCK_MS, GROWTH_MB = 250.0, 50.0, 20.0
SHOWN = 400  # lines of one sort of failure


@dataclass
class Report:
    """One run. `crashed`, `crossed` and `silent` have a line for each failure."""

    kinds: int = 0
    fields: int = 0
    done: int = 0  # fields with a case that was judged
    unjudged: int = 0  # fields whose cases can't be judged; `left_out` has their kinds and why
    cases: int = 0
    crashed: list[str] = field(default_factory=list)
    crossed: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    stalled_ms: float = 0.0
    loop_blocks: Mapping[str, float | None] = field(default_factory=dict)  # ms by process; None: it measured nothing
    second_run_mb: float = 0.0
    left_out: Mapping[str, str] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def count(self, tally: Tally) -> None:
        self.cases = len(tally.results)
        self.outcomes = Counter(result.outcome.value for result in tally.results)
        self.crashed += _of(tally.results, Outcome.CRASHED)
        self.crashed += tally.unblamed
        self.crossed += _of(tally.results, Outcome.CROSSED)
        self.silent += _of(tally.results, Outcome.SILENT)
        self.silent += [f"{name} is still there long after it was deleted" for name in tally.stuck]
        if tally.given_up:
            self.crashed.append(f"{tally.given_up} cases were not tried: processes kept ending")

    @property
    def loop_block_ms(self) -> float:
        return max((block or 0.0 for block in self.loop_blocks.values()), default=0.0)

    @property
    def failed(self) -> bool:
        return bool(self.crashed or self.crossed or self.silent or self.held)

    @property
    def held(self) -> list[str]:
        """Processes whose event loop was held for longer than allowed, or that do not tell. No run is too short."""
        found = []
        for name, block in sorted(self.loop_blocks.items()):
            if block is None:
                found.append(f"loop_block_ms of {name} was never measured")
            elif block > BLOCK_MS:
                found.append(f"loop_block_ms of {name} is {block:.0f}, at most {BLOCK_MS:.0f} are allowed")
        return found

    @property
    def missed(self) -> list[str]:
        """Limits of a whole run that were not kept."""
        found = []
        if self.stalled_ms > STALL_MS:
            found.append(f"stalled_ms is {self.stalled_ms:.0f}, at most {STALL_MS:.0f} are allowed")
        if self.second_run_mb > GROWTH_MB:
            found.append(f"second_run_mb is {self.second_run_mb:.1f}, at most {GROWTH_MB:.0f} are allowed")
        if self.done + self.unjudged < self.fields:
            found.append(f"{self.fields - self.done - self.unjudged} fields were not tried")
        return found

    def lines(self, *, whole: bool = True) -> list[str]:
        """Everything that a reader wants to know, the summary last. `whole`: the limits of a whole run count."""
        found = [f"left out: {what}: {why}" for what, why in sorted(self.left_out.items())]
        found += self.notes
        for sort, several in (("crashed", self.crashed), ("crossed", self.crossed), ("silent", self.silent)):
            found += [f"{sort}: {line}" for line in several[:SHOWN]]
            if len(several) > SHOWN:
                found.append(f"{sort}: and {len(several) - SHOWN} more")
        found.append("outcomes: " + ", ".join(f"{name} {number}" for name, number in sorted(self.outcomes.items())))
        blocks = (
            f"{name} {'?' if block is None else round(block)}" for name, block in sorted(self.loop_blocks.items())
        )
        found.append(f"loop_block_ms by process: {', '.join(blocks)}")
        return [*found, *self.held, *(self.missed if whole else ()), self.line()]

    def line(self) -> str:
        return (
            f"hostile: kinds={self.kinds} fields={self.done}/{self.fields} cases={self.cases}"
            f" crashed={len(self.crashed)} crossed={len(self.crossed)} silent={len(self.silent)}"
            f" stalled_ms={self.stalled_ms:.0f} loop_block_ms={self.loop_block_ms:.0f}"
            f" second_run_mb={self.second_run_mb:.1f}"
        )


def _of(results: Iterable[Result], outcome: Outcome) -> list[str]:
    return [str(result) for result in results if result.outcome is outcome]
