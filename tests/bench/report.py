"""What comes out: the last line, what missed its target, and the same as JSON for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec

from tests.bench.scenario import Targets
from tests.bench.spread import histogram, median, percentile
from tools.results import keep

RESULTS = Path("build-output/bench")


@dataclass(frozen=True, kw_only=True)
class Line:
    """The result of a standard run, in one line that programs can read."""

    n: int
    requests_per_object: float
    time_vs_floor: float
    cpu_ms_per_object: float
    rss_mb_per_1000: float
    idle_writes: int
    loop_lag_p99_ms: float

    def text(self, family: str) -> str:
        return (
            f"{family}: n={self.n} requests_per_object={self.requests_per_object:.3f} "
            f"time_vs_floor={self.time_vs_floor:.2f} cpu_ms_per_object={self.cpu_ms_per_object:.2f} "
            f"rss_mb_per_1000={self.rss_mb_per_1000:.1f} idle_writes={self.idle_writes} "
            f"loop_lag_p99_ms={self.loop_lag_p99_ms:.1f}"
        )

    def missed(self, targets: Targets) -> list[str]:
        """What is above its target, each as a sentence."""
        return above(asdict(self), asdict(targets))


@dataclass(frozen=True)
class Finished:
    """What a benchmark ends with: its last line, and the bars that it missed, each as a sentence."""

    line: str
    missed: tuple[str, ...] = ()


def above(measured: Mapping[str, float], most: Mapping[str, float]) -> list[str]:
    """Numbers beyond the line's own that are above their targets, each as a sentence."""
    found = ((name, measured[name], limit) for name, limit in most.items())
    return [f"{name} is {value:.4g}, above its target of {limit:.4g}" for name, value, limit in found if value > limit]


class Measured(Protocol):
    """A run of a family beside its floor. `requests` are those of one object."""

    @property
    def requests(self) -> float: ...

    @property
    def ratio(self) -> float: ...

    @property
    def cpu(self) -> float: ...

    @property
    def memory_mb(self) -> float: ...

    @property
    def lag_p99_ms(self) -> float: ...


def line_of(n: int, runs: Sequence[Measured], idle_writes: int) -> Line:
    """The worst number of requests, and the medians of the rest."""
    return Line(
        n=n,
        requests_per_object=max(run.requests for run in runs),
        time_vs_floor=median([run.ratio for run in runs]),
        cpu_ms_per_object=median([1000 * run.cpu / n for run in runs]),
        rss_mb_per_1000=median([run.memory_mb * 1000 / n for run in runs]),
        idle_writes=idle_writes,
        loop_lag_p99_ms=median([run.lag_p99_ms for run in runs]),
    )


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """What a page shows of a run, beside its numbers."""

    ratios: Sequence[float] = ()  # each pair's time against the floor
    target: float = 0.0  # and what it should be at the most
    ms_until_done: Sequence[float] = ()  # of each object, from the moment at which a user sees it
    sizes: Sequence[tuple[int, float]] = ()  # so many objects at once, and the milliseconds that each took
    changes: Sequence[tuple[int, float]] = ()  # one change among so many, and the milliseconds of CPU that it cost

    def plain(self) -> dict[str, Any]:
        latency = {
            "p50": percentile(self.ms_until_done, 0.5),
            "p99": percentile(self.ms_until_done, 0.99),
            "histogram": histogram(self.ms_until_done),
        }
        found = {name: value for name, value in asdict(self).items() if value and name != "ms_until_done"}
        return found | ({"latency_ms": latency} if self.ms_until_done else {})


def save(family: str, part: str, result: Any, directory: Path = RESULTS, *, drawn: Drawn | None = None) -> Path:
    """Adds a part (standard, restart, kill) to the family's results; what other runs left there stays.

    Beside that it is one more run of the record, which only grows.
    """
    plain = msgspec.to_builtins(result)
    numbers = {name: value for name, value in plain.get("result", plain).items() if isinstance(value, int | float)}
    told = (drawn or Drawn()).plain()
    keep(directory, {"tool": "bench", "family": family, "part": part, "numbers": numbers, "drawn": told})
    path = directory / f"{family}.json"
    directory.mkdir(parents=True, exist_ok=True)
    known = msgspec.json.decode(path.read_bytes()) if path.exists() else {}
    path.write_bytes(msgspec.json.format(msgspec.json.encode({**known, part: plain}), indent=1) + b"\n")
    return path
