"""The results that tools have kept, as the page needs them: the latest run of each sort, and every size."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.results import RUNS


@dataclass(frozen=True)
class Run:
    """One run of a tool. `drawn` is what it left for plots; a run may have left nothing."""

    tool: str
    family: str
    part: str
    date: str
    commit: str
    numbers: dict[str, float]
    drawn: dict[str, Any]

    @property
    def day(self) -> str:
        return self.date.replace("T", " ")[:16]


@dataclass(frozen=True)
class Memory:
    """A soak: hours since its beginning, and megabytes then."""

    name: str
    samples: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Results:
    """Everything that is known. Runs are in the order in which they were made."""

    runs: tuple[Run, ...]
    memory: tuple[Memory, ...]

    def latest(self, tool: str, part: str = "") -> list[Run]:
        """The last run of each family, in the order of their names."""
        found = {run.family: run for run in self.runs if run.tool == tool and run.part == part}
        return [found[family] for family in sorted(found)]

    def sizes(self, what: str) -> dict[str, list[tuple[int, float]]]:
        """What each family cost at each size, by the last run that had this size."""
        found: dict[str, dict[int, float]] = {}
        for run in self.runs:
            for n, cost in run.drawn.get(what, ()):
                found.setdefault(run.family, {})[n] = cost
        return {family: sorted(costs.items()) for family, costs in sorted(found.items())}


def read(folder: Path) -> Results:
    runs = [_run(one) for path in sorted(folder.glob(f"*/{RUNS}")) for one in _lines(path)]
    soaks = [_memory(path) for path in sorted(folder.glob("soak*.jsonl"))]
    ordered = sorted(runs, key=lambda run: run.date)
    return Results(tuple(ordered), tuple(soak for soak in soaks if len(soak.samples) > 1))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """What can be read: a tool that was killed may have left half a line."""
    for line in path.read_text(errors="replace").splitlines():
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict):
            yield found


def _run(one: dict[str, Any]) -> Run:
    tool, family, part, date, commit = (str(one.get(name, "")) for name in ("tool", "family", "part", "date", "commit"))
    return Run(tool, family, part, date, commit, one.get("numbers") or {}, one.get("drawn") or {})


def _memory(path: Path) -> Memory:
    return Memory(path.stem, tuple(_samples(_lines(path))))


def _samples(lines: Iterable[dict[str, Any]]) -> Iterator[tuple[float, float]]:
    for one in lines:
        seconds, megabytes = one.get("seconds"), one.get("rss_mb")
        if isinstance(seconds, int | float) and isinstance(megabytes, int | float):
            yield seconds / 3600, megabytes
