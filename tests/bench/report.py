"""What comes out: the last line, what missed its target, and the same as JSON for a page."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import msgspec

from tests.bench.scenario import Targets

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
        found = ((field.name, getattr(self, field.name), getattr(targets, field.name)) for field in fields(targets))
        return [f"{name} is {value:.4g}, above its target of {most:g}" for name, value, most in found if value > most]


def save(family: str, part: str, result: Any, directory: Path = RESULTS) -> Path:
    """Adds a part (standard, restart, kill) to the family's results; what other runs left there stays."""
    path = directory / f"{family}.json"
    directory.mkdir(parents=True, exist_ok=True)
    known = msgspec.json.decode(path.read_bytes()) if path.exists() else {}
    path.write_bytes(msgspec.json.format(msgspec.json.encode({**known, part: result}), indent=1) + b"\n")
    return path
