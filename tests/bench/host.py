"""What Linux says about processes and about the machine under them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
MB = 1e6
BEARABLE = 0.1  # of the machine's CPU for others


@dataclass(frozen=True, slots=True)
class Machine:
    """CPU seconds of all cores since boot: all there were, those at work, and those that the host gave to others."""

    total: float
    busy: float
    stolen: float

    @classmethod
    def now(cls) -> Machine:
        return cls.parse(Path("/proc/stat").read_text())

    @classmethod
    def parse(cls, stat: str) -> Machine:
        """user nice system idle iowait irq softirq steal …; guest time is in user time already."""
        user, nice, system, idle, iowait, irq, softirq, stolen = (int(n) / TICK for n in stat.split()[1:9])
        busy = user + nice + system + irq + softirq
        return cls(busy + idle + iowait + stolen, busy, stolen)


@dataclass(frozen=True, slots=True)
class Disturbance:
    """Shares of the machine's CPU during a measurement that other processes used, and the idle share."""

    stolen: float
    others: float
    idle: float

    @property
    def much(self) -> bool:
        """Whether so much was taken that times can't be compared any more."""
        return self.stolen + self.others > BEARABLE

    def __str__(self) -> str:
        return f"stolen {self.stolen:.1%}, other processes {self.others:.1%}, idle {self.idle:.1%}"


def disturbance(before: Machine, after: Machine, ours: float) -> Disturbance:
    """`ours` are the CPU seconds of the processes that took part."""
    total = max(after.total - before.total, 1 / TICK)
    busy, stolen = after.busy - before.busy, after.stolen - before.stolen
    others, idle = max(0.0, busy - ours), max(0.0, total - busy - stolen)
    return Disturbance(stolen / total, others / total, idle / total)


def cpu_seconds(pid: int) -> float:
    """What a process has used so far, all its threads together."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    fields = stat.rpartition(")")[2].split()  # a program's name may hold anything, a bracket too
    return (int(fields[11]) + int(fields[12])) / TICK


def memory_mb() -> float:
    """What this process has in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / MB


def peak_mb() -> float:
    """The most that this process ever had in memory."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) * 1024 / MB for line in status.splitlines() if line.startswith("VmHWM:"))
