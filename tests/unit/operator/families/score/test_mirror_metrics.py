"""What the mirror counts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from seamark.api.score import Workload, WorkloadExposure
from seamark.families.score.mirror.memory import MirrorMemory
from seamark.families.score.mirror.metrics import MirrorMetrics
from seamark.families.score.mirror.state import Seen
from seamark.families.score.platform.memory import ConfigurationMemory
from seamark_runtime.apply import Answers

URL = "https://app.example.com"
CREATED = "2026-01-01T00:00:00Z"


def seen(url: str, endpoint: str | None = None, conditions: tuple[Any, ...] = (), fields: tuple[Any, ...] = ()) -> Seen:
    workload = {
        "metadata": {"name": "app", "namespace": "default", "uid": "u", "generation": 1},
        "spec": {"containers": {"main": {"image": "nginx"}}},
        "status": {"endpoint": endpoint},
    }
    exposure = {
        "metadata": {"name": "app", "generation": 1, "creationTimestamp": CREATED, "managedFields": list(fields)},
        "spec": {"workloadRef": {"name": "app", "uid": "u"}, "observedWorkloadGeneration": 1, "runtimeClass": "ecs"},
        "status": {"exposures": [{"url": url}], "conditions": list(conditions)},
    }
    return Seen(msgspec.convert(workload, Workload), msgspec.convert(exposure, WorkloadExposure))


class Counted:
    """Metrics three seconds after everything, and what a scrape of them shows."""

    def __init__(self) -> None:
        now = datetime.fromisoformat(CREATED).timestamp() + 3
        metrics = MirrorMetrics(lambda: now)
        self._memory = MirrorMemory(ConfigurationMemory(), metrics)
        self._registry = CollectorRegistry()
        for collector in metrics.collectors:
            self._registry.register(collector)

    def written(self, seen: Seen) -> None:
        """The status that was judged from this is written."""
        self._memory.acknowledge(seen, Answers({}, {}))

    def value(self, name: str) -> float | None:
        return self._registry.get_sample_value(f"seamark_score_{name}")


def test_the_time_from_publication_to_endpoint_is_observed_once_a_value() -> None:
    counted = Counted()
    counted.written(seen(URL))
    counted.written(seen(URL, endpoint=URL))
    assert counted.value("endpoints_mirrored_total") == 1
    assert counted.value("publication_seconds_count") == 1
    assert counted.value("publication_seconds_sum") == 3


def test_the_runtimes_last_write_is_where_the_time_begins_however_old_its_conditions_are() -> None:
    counted = Counted()
    condition = {"type": "Available", "status": "True", "reason": "A", "message": "", "lastTransitionTime": CREATED}
    written = {"manager": "runtime", "subresource": "status", "time": "2026-01-01T00:00:02Z"}
    counted.written(seen(URL, conditions=(condition,), fields=(written, {"manager": "registrar", "time": CREATED})))
    assert counted.value("publication_seconds_sum") == 1


def test_a_url_that_is_refused_counts_once_until_it_is_mended() -> None:
    counted = Counted()
    for url in ("nonsense", "nonsense", "more nonsense", URL, "nonsense"):
        counted.written(seen(url))
    assert counted.value("invalid_urls_total") == 3
