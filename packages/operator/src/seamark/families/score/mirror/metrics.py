"""What Prometheus sees of the mirror."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from prometheus_client import Counter, Histogram
from prometheus_client.registry import Collector

from seamark.api.score import WorkloadExposure

BUCKETS = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300)


class MirrorMetrics:
    """Created without a registry."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self.latency = Histogram(
            "seamark_score_publication_seconds",
            "From the runtime's last write of the exposure's status to the endpoint being shown",
            buckets=BUCKETS,
            registry=None,
        )
        self.mirrored = Counter("seamark_score_endpoints_mirrored", "Endpoints shown, each new value", registry=None)
        self.invalid = Counter("seamark_score_invalid_urls", "Published URLs that were refused", registry=None)
        self._now = now

    @property
    def collectors(self) -> tuple[Collector, ...]:
        return self.latency, self.mirrored, self.invalid

    def count_mirrored(self, exposure: WorkloadExposure | None) -> None:
        self.mirrored.inc()
        if exposure is not None and (since := changed(exposure)):
            self.latency.observe(max(0.0, self._now() - since))


def changed(exposure: WorkloadExposure) -> float:
    """When its status was last written, or else when the runtime was asked; as exact as the API server's times are.

    The transition of a condition may be long ago when an endpoint changes.
    """
    written = [each.time for each in exposure.metadata.managed_fields or () if each.subresource == "status"]
    last = max(filter(None, written), default=exposure.metadata.creation_timestamp or "")
    return datetime.fromisoformat(last).timestamp() if last else 0.0
