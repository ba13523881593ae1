"""What an agent counts, read when asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric


class AgentMetrics:
    """Tunnels by their state, and whether the edge is reached. `states` gives (online, refused, connected)."""

    _labelnames = ("state",)

    def __init__(self, states: Callable[[], tuple[int, int, bool]]) -> None:
        self._states = states

    def describe(self) -> Iterable[Metric]:
        return self._families(0, 0, connected=False)

    def collect(self) -> Iterable[Metric]:
        online, refused, connected = self._states()
        return self._families(online, refused, connected=connected)

    @staticmethod
    def _families(online: int, refused: int, *, connected: bool) -> Iterable[Metric]:
        tunnels = GaugeMetricFamily("seamark_agent_tunnels", "Endpoints that this agent is to hold.", labels=["state"])
        tunnels.add_metric(["online"], online)
        tunnels.add_metric(["refused"], refused)
        yield tunnels
        yield GaugeMetricFamily("seamark_agent_connected", "1 while the edge is reached.", value=float(connected))
