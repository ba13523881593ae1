"""What Prometheus sees of DNS: the names that dashboards of ExternalDNS's users already have, and our own."""

from __future__ import annotations

import time

from prometheus_client import Counter, Gauge
from prometheus_client.registry import Collector

from seamark.families.dns.ledger import Ledger

# Older dashboards have a metric for each of two types.
OLDER = {"source": "Records wished for", "registry": "Records held", "controller_verified": "Wished for and held"}
_Counts = tuple[dict[str, int], ...]  # wished, held, right: by type


class DnsMetrics:
    """The counters of one operator, made without a registry; sums are over all zones.

    - `source_*`: what objects wish for. `registry_*`: what the name servers hold. `verified`: wished for, and held.
    """

    def __init__(self) -> None:
        names = "external_dns_"
        self.source = Gauge(f"{names}source_endpoints_total", "Records that objects wish for", registry=None)
        self.source_records = Gauge(f"{names}source_records", "The same by type", ["record_type"], registry=None)
        self.registry = Gauge(f"{names}registry_endpoints_total", "Records on the name servers", registry=None)
        self.registry_records = Gauge(f"{names}registry_records", "The same by type", ["record_type"], registry=None)
        self.verified = Gauge(
            f"{names}controller_verified_records", "Wished for and held, by type", ["record_type"], registry=None
        )
        self.by_type = {
            (place, type_): Gauge(f"{names}{what}_{type_.lower()}_records", f"{words}: {type_}", registry=None)
            for place, (what, words) in enumerate(OLDER.items())
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
        self._zones: dict[str, _Counts] = {}
        self._invalid: dict[str, int] = {}

    @property
    def collectors(self) -> tuple[Collector, ...]:
        return (*(one for one in vars(self).values() if isinstance(one, Counter | Gauge)), *self.by_type.values())

    def synced(self) -> None:
        now = time.time()
        self.last_sync.set(now)
        self.last_reconcile.set(now)
        self.soft_errors.set(0)

    def failed(self) -> None:
        self.last_reconcile.set(time.time())
        self.soft_errors.inc()
        self.errors.inc()

    def planned(self, ledger: Ledger) -> None:
        """A zone was planned: what is wished for there, what is held, and what of it is right."""
        plan = ledger.plan
        self.pending.labels(ledger.zone).set(sum(map(len, plan.pending.values())))
        self.source_errors.inc(ledger.invalid - self._invalid.get(ledger.zone, 0))
        self._invalid[ledger.zone] = ledger.invalid
        now: _Counts = (dict(ledger.wished), dict(plan.held), dict(plan.right))
        before = self._zones.get(ledger.zone, ({}, {}, {}))
        self._zones[ledger.zone] = now
        if now == before:
            return
        for place, gauge in enumerate((self.source_records, self.registry_records, self.verified)):
            for type_ in {**before[place], **now[place]}:
                total = sum(one[place].get(type_, 0) for one in self._zones.values())
                gauge.labels(type_.lower()).set(total)
                if (place, type_) in self.by_type:
                    self.by_type[(place, type_)].set(total)
        self.source.set(sum(sum(one[0].values()) for one in self._zones.values()))
        self.registry.set(sum(sum(one[1].values()) for one in self._zones.values()))
