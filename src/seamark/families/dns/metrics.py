"""What Prometheus sees of DNS: the names that dashboards of ExternalDNS's users already have, and our own."""

from __future__ import annotations

import time
from collections import Counter as Tally
from collections.abc import Iterable

from prometheus_client import Counter, Gauge
from prometheus_client.registry import Collector

from seamark.families.dns.plan import Plan
from seamark.families.dns.zone import Subject
from seamark.providers.dns.model import Content


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
        self._zones: dict[str, tuple[Tally[str], Tally[str], Tally[str]]] = {}
        self._held: dict[str, tuple[Content, Tally[str]]] = {}
        self._types: set[str] = set()

    @property
    def collectors(self) -> tuple[Collector, ...]:
        return tuple(one for one in vars(self).values() if isinstance(one, Counter | Gauge))

    def synced(self) -> None:
        now = time.time()
        self.last_sync.set(now)
        self.last_reconcile.set(now)
        self.soft_errors.set(0)

    def failed(self) -> None:
        self.last_reconcile.set(time.time())
        self.soft_errors.inc()
        self.errors.inc()

    def planned(self, zone: str, subjects: Iterable[Subject], plan: Plan | None, content: Content | None) -> None:
        """A zone was planned: what is wished for there, what is held, and what of it is right."""
        wished = Tally(claim.record.type for one in subjects for claim in one.claims.get(zone, ()))
        held = self._counted(zone, content) if content is not None else Tally[str]()
        verdicts = plan.verdicts.values() if plan is not None else ()
        right = Tally(verdict.slot[1] for verdict in verdicts if verdict.in_place)
        self._zones[zone] = (wished, held, right)
        self.pending.labels(zone).set(len(plan.changes) if plan is not None else 0)
        self._show()

    def _counted(self, zone: str, content: Content) -> Tally[str]:
        """By type; counted once for each content."""
        known = self._held.get(zone)
        if known is None or known[0] is not content:
            known = (content, Tally(record.type for record in content))
            self._held[zone] = known
        return known[1]

    def _show(self) -> None:
        gauges = (self.source_records, self.registry_records, self.verified)
        sums = [sum((one[place] for one in self._zones.values()), Tally[str]()) for place in range(3)]
        self._types |= {type_ for tally in sums for type_ in tally}
        for gauge, tally in zip(gauges, sums, strict=True):
            for type_ in self._types:
                gauge.labels(type_.lower()).set(tally[type_])
        self.source.set(sum(sums[0].values()))
        self.registry.set(sum(sums[1].values()))
