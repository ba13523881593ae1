"""What Prometheus sees of a forwarder."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

from seamark_runtime.loopwatch import LoopWatch


class ForwarderMetrics:
    """The counters of one forwarder, on a registry of its own."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self.loop = LoopWatch(registry)
        self.connections = Counter(
            "seamark_forwarder_connections", "Connections of Pods by how they began", ["outcome"], registry=registry
        )
        self.resumed = Counter(
            "seamark_forwarder_resumed", "Connections to the edge that resumed a TLS session", registry=registry
        )
        self.unidentified = Counter(
            "seamark_forwarder_unidentified", "Connections from an address that no Pod has", registry=registry
        )
        self.open = Gauge("seamark_forwarder_open_connections", "Connections of Pods that are open", registry=registry)
        self.listening = Gauge("seamark_forwarder_listening", "Ports that are listened on", registry=registry)
