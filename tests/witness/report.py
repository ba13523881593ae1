"""What a run prints: each finding, the times from a break to not-True, and the last line with its bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.witness.api import Key
from tests.witness.claims import CLAIMS, SHELF
from tests.witness.faults.fault import Break
from tests.witness.lanes import Times
from tests.witness.ledger import Counts, Finding, Ledger

LATE = 1.0
DENIED = 0.01  # of the checks
SIGNALLED = 2.0
FAULTS = 10.0  # a minute, in a run that is long enough for all kinds of them
LONG = 20.0  # minutes


def of_finding(finding: Finding, began: float) -> str:
    kind, namespace, name = finding.key
    condition = f" {finding.condition}" if finding.condition else ""
    return f"{finding.kind}: {kind} {namespace}/{name}{condition} at {finding.at - began:.1f} s: {finding.text}"


def quantile(values: Sequence[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, math.ceil(part * len(ordered)) - 1))]


def shown(seconds: float) -> str:
    return "never" if math.isinf(seconds) else f"{seconds:.1f} s"


@dataclass(frozen=True)
class Outcome:
    minutes: float
    counts: Counts
    times: Times
    unclaimed: tuple[str, ...]
    latest: Mapping[tuple[Key, str], float] = field(default_factory=dict)

    def lines(self) -> list[str]:
        found = [f"no condition was seen for a claim: {claim}" for claim in self.unclaimed]
        ordered = sorted(self.latest.items(), key=lambda entry: -entry[1])
        found += [f"late by {late:.1f} s: {' '.join(key)} {condition}" for (key, condition), late in ordered]
        found += [f"without effect on clients: {name}" for name in sorted(set(self.times.without_effect))]
        found += [f"healed before it was noticed: {name}" for name in sorted(set(self.times.healed))]
        for (how, name), values in sorted(
            self.times.by_name.items(), key=lambda entry: (entry[0][0].value, entry[0][1])
        ):
            found.append(f"break to not-True, {how.value}, {self._quantiles(name, values)}")
        for how in (Break.SIGNALLED, Break.SILENT):
            if together := self._all(how):
                found.append(f"break to not-True, {how.value}, {self._quantiles('all', together)}")
        return found

    @staticmethod
    def _quantiles(name: str, values: Sequence[float | None]) -> str:
        known = [math.inf if value is None else value for value in values]
        return f"{name}: n={len(known)} p50={shown(quantile(known, 0.5))} p100={shown(quantile(known, 1.0))}"

    def _all(self, how: Break) -> list[float]:
        entries = (values for (kind, _), values in self.times.by_name.items() if kind is how)
        return [math.inf if value is None else value for values in entries for value in values]

    def missed(self) -> list[str]:
        counts = self.counts
        bars = [
            ("false_true=0", counts.false_true == 0),
            (f"late_s<={LATE:g}", counts.late <= LATE),
            ("false_false<=1% of checks", counts.false_false <= DENIED * max(1, counts.checks)),
            ("removed_by_outage=0", counts.removed == 0),
            ("flaps=0", counts.flaps == 0),
            ("no program ends by itself", not self.times.ended),
            (f"faults>={FAULTS:g} a minute", self.minutes < LONG or self.times.faults >= FAULTS * self.minutes),
        ]
        for how, half in ((Break.SIGNALLED, SIGNALLED), (Break.SILENT, SHELF / 2)):
            if values := self._all(how):
                bars.append((f"{how.value} p50<={half:g} s", quantile(values, 0.5) <= half))
                bars.append((f"{how.value} p100<={SHELF:g} s", quantile(values, 1.0) <= SHELF))
        return [name for name, kept in bars if not kept]

    def last_line(self) -> str:
        counts = self.counts
        return (
            f"witness: minutes={self.minutes:g} faults={self.times.faults} checks={counts.checks}"
            f" false_true={counts.false_true} late_s={counts.late:.1f} false_false={counts.false_false}"
            f" removed_by_outage={counts.removed} flaps={counts.flaps}"
        )


def unclaimed(ledger: Ledger) -> tuple[str, ...]:
    """Claims of the table that no object's status has made."""
    made = {(key[0], condition) for (key, condition), course in ledger.courses.items() if course.changes}
    return tuple(f"{claim.kind} {claim.condition}" for claim in CLAIMS if (claim.kind, claim.condition) not in made)
