"""When each BoundEndpoint was last verified by a connection: a metric, so that it needs no status write."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from seamark_edge.api.bindings import BoundEndpoint
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.clock import timestamp
from seamark_runtime.view import View

NAME = "seamark_binding_verified_timestamp_seconds"
DESCRIPTION = "When a connection through a BoundEndpoint's upstream Service last succeeded"


class Verifications(Collector):
    """Recorded by probes; as the memory of BoundEndpoints, forgotten with them."""

    def __init__(self) -> None:
        self._verified: dict[Key, float] = {}  # wall time; of BoundEndpoints that are not being deleted

    def record(self, key: Key, at: datetime) -> None:
        self._verified[key] = at.timestamp()

    def last(self, key: Key) -> str:
        """Empty if it was never verified by this process."""
        at = self._verified.get(key)
        return timestamp(datetime.fromtimestamp(at, UTC)) if at else ""

    def advance(self, _view: View, endpoint: BoundEndpoint, _results: Results) -> None:
        if endpoint.deleting:
            self.forget(endpoint.key)

    def forget(self, key: Key) -> None:
        self._verified.pop(key, None)

    def describe(self) -> Iterable[Metric]:
        yield self._family()

    def collect(self) -> Iterable[Metric]:
        family = self._family()
        for key, at in sorted(self._verified.items()):
            family.add_metric([key.namespace, key.name], at)
        yield family

    def _family(self) -> GaugeMetricFamily:
        return GaugeMetricFamily(NAME, DESCRIPTION, labels=["namespace", "name"])
