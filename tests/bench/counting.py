"""Which client requested what of the API server: from its audit log, independent of the client's own counters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from seamark_cluster.real.audit import Entry

READS = ("get", "list")


@dataclass(frozen=True)
class Requests:
    """One user's requests: Leases apart, and watches apart, as they last for as long as the program does.

    - `writes` and `reads` are by what was done to what; events are writes like others, refused requests count too.
    """

    writes: Counter[str] = field(default_factory=Counter)
    reads: Counter[str] = field(default_factory=Counter)
    watches: int = 0
    leases: int = 0
    refused: int = 0

    @property
    def counted(self) -> int:
        """What `requests_per_object` is made of: every request but Leases and watches."""
        return self.writes.total() + self.reads.total()

    def __str__(self) -> str:
        def told(counts: Counter[str]) -> str:
            return ", ".join(f"{count} {what}" for what, count in sorted(counts.items())) or "none"

        parts = [f"writes: {told(self.writes)}", f"reads: {told(self.reads)}", f"watches: {self.watches}"]
        refused = [f"answered with an error: {self.refused}"] if self.refused else []
        return "; ".join([*parts, f"leases apart: {self.leases}", *refused])


def count(entries: Iterable[Entry], user: str) -> Requests:
    writes: Counter[str] = Counter()
    reads: Counter[str] = Counter()
    watches = leases = refused = 0
    for entry in entries:
        if entry.user != user:
            continue
        what = f"{entry.verb} {entry.resource}" + (f"/{entry.subresource}" if entry.subresource else "")
        if entry.resource == "leases":
            leases += 1
            continue
        refused += entry.code >= 400
        if entry.verb == "watch":
            watches += 1
        elif entry.verb in READS:
            reads[what] += 1
        else:
            writes[what] += 1
    return Requests(writes, reads, watches, leases, refused)
