"""What Prometheus sees of the mirror."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from prometheus_client import Counter, Histogram
from prometheus_client.registry import Collector

from seamark.api.score import WorkloadExposure
from seamark.families.score.mirror.reconcile import shown
from seamark.families.score.mirror.state import Seen

BUCKETS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300)


class MirrorMetrics:
    """Made without a registry. A pass that changes nothing counts nothing, and one bad URL counts once."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self.latency = Histogram(
            "seamark_score_publication_seconds",
            "From the last change that the runtime tells of to the endpoint being shown",
            buckets=BUCKETS,
            registry=None,
        )
        self.mirrored = Counter("seamark_score_endpoints_mirrored", "Endpoints shown, each new value", registry=None)
        self.invalid = Counter("seamark_score_invalid_urls", "Published URLs that were refused", registry=None)
        self._now = now
        self._refused: dict[str, str] = {}  # by the uid of a Workload: what was refused last

    @property
    def collectors(self) -> tuple[Collector, ...]:
        return self.latency, self.mirrored, self.invalid

    def count(self, seen: Seen) -> None:
        """After the status was written."""
        published, uid = shown(seen), seen.workload.uid
        if published.fault and published.top is not None:
            if self._refused.get(uid) != published.top.url:
                self._refused[uid] = published.top.url
                self.invalid.inc()
            return
        self.forget(uid)
        if published.endpoint is not None and published.endpoint != seen.endpoint:
            self.mirrored.inc()
            if seen.exposure is not None and (since := changed(seen.exposure)):
                self.latency.observe(max(0.0, self._now() - since))

    def forget(self, uid: str) -> None:
        self._refused.pop(uid, None)


def changed(exposure: WorkloadExposure) -> float:
    """When the runtime's conditions last changed, or else when it was asked; as exact as the API server's times are."""
    conditions = exposure.status.conditions if exposure.status else ()
    times = [one.last_transition_time for one in conditions if one.last_transition_time]
    last = max(times, default=exposure.metadata.creation_timestamp or "")
    return datetime.fromisoformat(last).timestamp() if last else 0.0
