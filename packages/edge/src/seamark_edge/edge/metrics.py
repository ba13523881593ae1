"""What an edge counts. The registry is passed in; the byte counters are plain integers, read when scraped."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import CounterMetricFamily
from prometheus_client.metrics_core import Metric

from seamark_edge.store.store import Store
from seamark_runtime.loopwatch import LoopWatch


class EdgeMetrics:
    """The edge's numbers. `received` and `sent` are added to on the data path and cost an addition each."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self.received = 0
        self.sent = 0
        self.connections = Counter(
            "seamark_edge_connections",
            "Client connections.",
            ["proto", "outcome"],
            registry=registry,
        )
        self.full = Counter(
            "seamark_edge_connection_limit_reached",
            "Connections that were closed in favour of another owner or source (displaced), or refused, because a kind "
            "of port had all that it may have.",
            ["port", "outcome"],
            registry=registry,
        )
        self.open = Gauge("seamark_edge_open_connections", "Client connections open now.", ["proto"], registry=registry)
        self.agents = Gauge("seamark_edge_agents", "Agent sessions now.", registry=registry)
        self.endpoints = Gauge("seamark_edge_endpoints", "Endpoints online now.", registry=registry)
        self.rpcs = Counter("seamark_edge_rpcs", "Requests of agents.", ["kind", "outcome"], registry=registry)
        self.requests = Counter(
            "seamark_edge_api_requests",
            "API requests.",
            ["resource", "method", "status"],
            registry=registry,
        )
        self.failures = Counter(
            "seamark_edge_failures",
            "Errors of the edge itself; each ended one connection, request or sweep.",
            ["where"],
            registry=registry,
        )
        self.store_up = Gauge(
            "seamark_edge_store_up",
            "1 while the state can be written, 0 while its database is away.",
            registry=registry,
        )
        self.store_owed = Gauge(
            "seamark_edge_store_owed", "Records that are written when the database answers again.", registry=registry
        )
        self.loop = LoopWatch(registry, period=0.005)
        # Every connection is counted: looking a label up costs more than the counting.
        self.counted = cache(self.connections.labels)
        self.open_of = cache(self.open.labels)
        registry.register(_Bytes(self))

    def watch_store(self, store: Store) -> None:
        """Its numbers are read when scraped."""
        self.store_up.set_function(lambda: float(not store.problem))
        self.store_owed.set_function(lambda: store.owed)


class _Bytes:
    """Reads the byte counters when asked."""

    _labelnames = ("direction",)

    def __init__(self, metrics: EdgeMetrics) -> None:
        self._metrics = metrics

    def describe(self) -> Iterable[Metric]:
        return self.collect()

    def collect(self) -> Iterable[Metric]:
        family = CounterMetricFamily("seamark_edge_bytes", "Bytes between clients and endpoints.", labels=["direction"])
        family.add_metric(["from_clients"], self._metrics.received)
        family.add_metric(["to_clients"], self._metrics.sent)
        yield family
