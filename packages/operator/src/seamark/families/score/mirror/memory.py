"""What the mirror remembers: the configuration in force, and what its metrics have counted."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.score import Workload
from seamark.families.score.mirror.answer import missing
from seamark.families.score.mirror.metrics import MirrorMetrics
from seamark.families.score.mirror.reconcile import shown
from seamark.families.score.mirror.state import Seen
from seamark.families.score.platform.memory import ConfigurationMemory
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.view import View


@dataclass(frozen=True)
class RefusedURL:
    """The URL that was refused last, of a Workload with this uid."""

    uid: str
    url: str


class MirrorMemory:
    """Counts after the status is written: a reconcile that changes nothing counts nothing."""

    def __init__(self, configuration: ConfigurationMemory, metrics: MirrorMetrics) -> None:
        self._configuration = configuration
        self._metrics = metrics
        self._refused: dict[Key, RefusedURL] = {}  # counted, and still published

    def advance(self, view: View, workload: Workload, results: Results) -> None:
        self._configuration.advance(view, workload, results)

    def acknowledge(self, seen: Seen, _answers: Answers) -> None:
        if missing(seen.workload, seen.exposure):
            return
        published = shown(seen)
        if published.fault and published.top is not None:
            self._count_refused(seen.workload, published.top.url)
            return
        self.forget(seen.workload.key)
        if published.endpoint is not None and published.endpoint != seen.endpoint:
            self._metrics.count_mirrored(seen.exposure)

    def _count_refused(self, workload: Workload, url: str) -> None:
        """One bad URL counts once."""
        refused = RefusedURL(workload.uid, url)
        if self._refused.get(workload.key) != refused:
            self._refused[workload.key] = refused
            self._metrics.invalid.inc()

    def forget(self, key: Key) -> None:
        self._refused.pop(key, None)
