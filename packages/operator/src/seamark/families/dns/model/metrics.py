"""What Prometheus sees of DNS: the names that dashboards of ExternalDNS's users already have, and our own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from prometheus_client import Counter, Gauge
from prometheus_client.registry import Collector

# Older dashboards have a metric for each of two types.
OLDER = {"source": "Desired records", "registry": "Records held", "controller_verified": "Desired and held"}
_ByType = Mapping[str, int]


@dataclass(frozen=True)
class ZoneCounts:
    """The records of one zone: what objects desire, what the server holds, and what of that is as desired; by type.

    `invalid`: records that could not be right, since the start. `pending`: changes that are still to be made.
    """

    desired: _ByType
    held: _ByType
    in_place: _ByType
    invalid: int
    pending: int

    @property
    def records(self) -> tuple[_ByType, ...]:
        return self.desired, self.held, self.in_place


NO_RECORDS = ZoneCounts({}, {}, {}, 0, 0)


class DnsMetrics:
    """The counters of one operator, made without a registry; sums are over all zones.

    - `source_*`: what objects desire. `registry_*`: what the name servers hold. `verified`: desired, and held.
    """

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        names = "external_dns_"
        self._now = now  # seconds since 1970
        self.source = Gauge(f"{names}source_endpoints_total", "Records that objects desire", registry=None)
        self.source_records = Gauge(f"{names}source_records", "The same by type", ["record_type"], registry=None)
        self.registry = Gauge(f"{names}registry_endpoints_total", "Records on the name servers", registry=None)
        self.registry_records = Gauge(f"{names}registry_records", "The same by type", ["record_type"], registry=None)
        self.verified = Gauge(
            f"{names}controller_verified_records", "Desired and held, by type", ["record_type"], registry=None
        )
        self.by_type = {
            (column, type_): Gauge(f"{names}{what}_{type_.lower()}_records", f"{meaning}: {type_}", registry=None)
            for column, (what, meaning) in enumerate(OLDER.items())
            for type_ in ("A", "AAAA")
        }
        self.source_errors = Counter(f"{names}source_errors", "Records that can't be right", registry=None)
        self.no_op_runs = Counter(f"{names}controller_no_op_runs", "Reads that found nothing new", registry=None)
        self.errors = Counter(f"{names}registry_errors", "Reads and updates that failed", registry=None)
        self.soft_errors = Gauge(
            f"{names}controller_consecutive_soft_errors", "Failures since the last success", registry=None
        )
        self.last_sync = Gauge(
            f"{names}controller_last_sync_timestamp_seconds", "When a zone was last read or updated", registry=None
        )
        self.last_reconcile = Gauge(
            f"{names}controller_last_reconcile_timestamp_seconds", "When a zone was last tried", registry=None
        )
        self.updates = Counter("seamark_dns_update_messages", "Updates sent to name servers", registry=None)
        self.refused = Gauge("seamark_dns_refused_records", "Records that a server refuses", ["zone"], registry=None)
        self.pending = Gauge("seamark_dns_pending_changes", "Changes that are still to come", ["zone"], registry=None)
        self._zones: dict[str, ZoneCounts] = {}  # as last counted

    @property
    def collectors(self) -> tuple[Collector, ...]:
        return (*(value for value in vars(self).values() if isinstance(value, Counter | Gauge)), *self.by_type.values())

    def synced(self) -> None:
        now = self._now()
        self.last_sync.set(now)
        self.last_reconcile.set(now)
        self.soft_errors.set(0)

    def failed(self) -> None:
        self.last_reconcile.set(self._now())
        self.soft_errors.inc()
        self.errors.inc()

    def planned(self, zone: str, now: ZoneCounts) -> None:
        """A zone was planned. Called again with the same counts it changes nothing."""
        before = self._zones.get(zone, NO_RECORDS)
        self._zones[zone] = now
        self.pending.labels(zone).set(now.pending)
        self.source_errors.inc(now.invalid - before.invalid)
        if now.records == before.records:
            return
        for column, gauge in enumerate((self.source_records, self.registry_records, self.verified)):
            for type_ in {**before.records[column], **now.records[column]}:
                total = sum(counts.records[column].get(type_, 0) for counts in self._zones.values())
                gauge.labels(type_.lower()).set(total)
                if (column, type_) in self.by_type:
                    self.by_type[(column, type_)].set(total)
        self.source.set(sum(sum(counts.desired.values()) for counts in self._zones.values()))
        self.registry.set(sum(sum(counts.held.values()) for counts in self._zones.values()))
