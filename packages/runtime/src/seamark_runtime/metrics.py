"""What Prometheus sees. Declared once here; `docs/reference/metrics.md` is generated from it."""

from __future__ import annotations

import asyncio

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from seamark_runtime.loopwatch import LoopWatch

FAST = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)


class Metrics:
    """The counters of one process, on a registry of its own so that two can live in one test."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self.queue_depth = Gauge("seamark_queue_depth", "Keys that are ready for a worker", registry=registry)
        self.reconcile_seconds = Histogram(
            "seamark_reconcile_seconds", "Duration of one reconcile", ["kind"], buckets=FAST, registry=registry
        )
        self.reconcile_outcomes = Counter(
            "seamark_reconcile_outcomes", "Reconciles by outcome", ["kind", "outcome"], registry=registry
        )
        self.writes = Counter(
            "seamark_writes", "Writes to the API server", ["kind", "verb", "subresource"], registry=registry
        )
        self.event_to_status = Histogram(
            "seamark_event_to_status_seconds",
            "Time from the change that woke a key to its status being written",
            ["kind"],
            buckets=FAST,
            registry=registry,
        )
        self.loop_lag = Histogram(
            "seamark_loop_lag_seconds", "How late the event loop runs what is due", buckets=FAST, registry=registry
        )
        self.loop = LoopWatch(registry)
        self.longest_step = Gauge(
            "seamark_task_longest_step_seconds",
            "The most CPU time that a task of a group has used without giving way to others, since the start",
            ["task"],
            registry=registry,
        )
        self.watch_trouble = Gauge(
            "seamark_watch_interrupted", "1 while a kind can't be followed", ["kind"], registry=registry
        )
        self.unreadable = Gauge(
            "seamark_unreadable_objects",
            "Objects that can't be read or processed, and are ignored",
            ["kind"],
            registry=registry,
        )
        self.object_failures = Counter(
            "seamark_object_failures",
            "Failures of one object or task, by what failed: decode, index, listener, read, reconcile or companion",
            ["kind", "stage"],
            registry=registry,
        )
        self.events_dropped = Counter(
            "seamark_events_dropped", "Events that the API server did not take", registry=registry
        )
        self.notices = Counter(
            "seamark_notices", "Events reported to users, each wording once", ["kind", "reason"], registry=registry
        )
        self.leading = Gauge("seamark_leader", "1 while this process holds the lease", registry=registry)


async def watch_lag(metrics: Metrics, period: float = 0.05) -> None:
    """Measures how late a timer fires: the time other work held the loop."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + period
        await asyncio.sleep(period)
        metrics.loop_lag.observe(max(0.0, loop.time() - due))
