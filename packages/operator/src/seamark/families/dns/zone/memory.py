"""The memory of the zones: a ledger for each, advanced with what has changed since the last reconcile.

- Every object, record and response is taken in once, at the cost of the change.
- `observe` reads a frozen `SeenZone` from it. What that contains for publication stays in the ledger until the runtime
  has acknowledged its publication.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from seamark.families.dns.model.dependencies import Dependencies
from seamark.families.dns.model.entries import Ref, zone_named
from seamark.families.dns.model.indexes import EVERYTHING
from seamark.families.dns.model.responses import Refusals
from seamark.families.dns.zone.calls import read, trouble
from seamark.families.dns.zone.ledger import Ledger, ServerState
from seamark.families.dns.zone.reader import ZoneReader
from seamark.families.dns.zone.state import Changeset, Deadlines, SeenZone, Trouble
from seamark.families.dns.zone.subjects import EndpointSubjects
from seamark.providers.dns.model import Change
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Failed, Results
from seamark_runtime.clock import timestamp
from seamark_runtime.source import Fresh, Stale
from seamark_runtime.view import View

NEVER = float("inf")


@dataclass
class _Zone:
    """One zone.

    - `changeset`: by the last complete plan: while a large change is planned, what was wanted stays wanted. None before
      the first plan.
    - `requeue_at`: when something in it changes without any event.
    """

    ledger: Ledger
    reader: ZoneReader
    changeset: Changeset | None = None
    known: bool = False
    fresh: bool = False
    confirmed: str = ""
    trouble: Trouble = field(default_factory=Trouble)
    requeue_at: float = NEVER


def silence_of(zone: _Zone) -> str:
    silence = zone.ledger.lookups.silence
    return silence.message if silence is not None else ""


class ZoneMemory:
    """Contract: that of `seamark_runtime.memory.Memory`, with acknowledgement.

    `_populated`: the sources that have had an object since the start.
    """

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._rules = dependencies.options.rules
        intervals = dependencies.options.intervals
        self._poll, self._deadlines = intervals.poll, Deadlines(intervals.reading, intervals.updating)
        self._populated = self._rules.sources if self._rules.empty_deletes else frozenset[str]()
        self._endpoints = EndpointSubjects(self._rules, dependencies.specs)
        self._zones = {zone: self._zone(zone) for zone in self._rules.zones}

    def _zone(self, zone: str) -> _Zone:
        responses = self._dependencies.responses
        responses.forget_lookups(zone)
        ledger = Ledger(zone, self._rules, responses.adjusted(zone), responses.lookups(zone))
        return _Zone(ledger, ZoneReader(zone, self._rules, self._dependencies.indexes, self._endpoints))

    # ---- called by the runtime

    def advance(self, view: View, key: Key, results: Results) -> None:
        name, responses = zone_named(key), self._dependencies.responses
        zone = self._zones[name]
        ledger = zone.ledger
        fact = view.fact(responses.contents, name)
        view.fact(responses.adjustments, name)  # the answers are read by the plan; a new one requeues the zone
        view.fact(responses.queried, name)  # as these
        expires = responses.expire(name, view.now)
        content = fact.value if isinstance(fact, Fresh | Stale) else None
        zone.known, zone.fresh = content is not None, isinstance(fact, Fresh)
        ledger.plan.unreadable = self._unreadable(view)
        ledger.follow(content, zone.reader.changed(view), self._populated_sources(view), view.now)
        ledger.lookups.pass_time(view.now)
        competing, foreign = self._dependencies.competing, ledger.plan.registry.foreign
        competing.seen_outside(view, key, f"in the zone {name or '.'}", foreign)
        refusals = self._refusals(view, ledger)
        if zone.changeset is None or not ledger.plan.backlog:
            zone.changeset = self._changeset(zone, refusals, results)
        zone.changeset = replace(zone.changeset, ask=ledger.lookups.batch, asking=ledger.lookups.number)
        zone.confirmed = "" if zone.fresh else responses.confirmed(name)
        zone.trouble = self._trouble(zone, results, view.date)
        server = ServerState(zone.known, zone.fresh, str(zone.trouble), silence_of(zone))
        ledger.responded(server, refusals)
        zone.requeue_at = view.now if ledger.more else min(expires, ledger.plan.next_end, ledger.lookups.next)
        self._dependencies.metrics.planned(name, ledger.counts)

    def acknowledge(self, seen: SeenZone, _answers: Answers) -> None:
        self._zones[seen.zone].ledger.published(seen.subjects)

    def forget(self, key: Key) -> None:
        name = zone_named(key)
        self._zones[name] = self._zone(name)

    # ---- read by `observe`

    def seen(self, key: Key) -> SeenZone:
        name = zone_named(key)
        zone = self._zones[name]
        return SeenZone(
            zone=name,
            known=zone.known,
            fresh=zone.fresh,
            confirmed=zone.confirmed,
            silence=silence_of(zone),
            trouble=zone.trouble,
            changeset=zone.changeset or Changeset(name, self._poll, self._deadlines),
            subjects=zone.ledger.publishable(),
        )

    def requeue_at(self, key: Key) -> float:
        return self._zones[zone_named(key)].requeue_at

    # ---- the steps of `advance`

    def _trouble(self, zone: _Zone, results: Results, date: datetime) -> Trouble:
        """With the time at which it was first noticed."""
        assert zone.changeset is not None, "the plan was made before"
        found = trouble(zone.changeset, results)
        if not found.message:
            return found
        since = zone.trouble.since if zone.trouble.message else timestamp(date)
        return found._replace(since=since)

    def _populated_sources(self, view: View) -> frozenset[str]:
        missing = [name for name in sorted(self._rules.sources) if name not in self._populated]
        found = [name for name in missing if view.by(self._dependencies.indexes.any[name], EVERYTHING)]
        if found:
            self._populated = self._populated | frozenset(found)
        return self._populated

    def _unreadable(self, view: View) -> frozenset[Ref]:
        kinds = {name: self._dependencies.indexes.any[name].kind for name in sorted(self._rules.sources)}
        return frozenset(Ref.of(name, key) for name, kind in kinds.items() for key in view.unreadable(kind))

    def _refusals(self, view: View, ledger: Ledger) -> Refusals:
        """What the server refused, without changes that are not in the plan any more."""
        plan, responses, metrics = ledger.plan, self._dependencies.responses, self._dependencies.metrics

        def planned(change: Change) -> bool:
            return change in plan.pending.get(change.slot[0], ())

        if plan.content is not None and not plan.backlog and responses.forget_unplanned(ledger.zone, planned):
            metrics.refused.labels(ledger.zone).set(responses.refused(ledger.zone))
        fact = view.fact(responses.refusals, ledger.zone)
        return fact.value if isinstance(fact, Fresh) else {}

    def _changeset(self, zone: _Zone, refusals: Refusals, results: Results) -> Changeset:
        plan, name = zone.ledger.plan, zone.ledger.zone
        content = plan.content
        adjust = tuple(record for records in plan.to_adjust.values() for record in records)
        if content is None:
            return Changeset(name, self._poll, self._deadlines, adjust=adjust)
        unreadable = isinstance(results.to(read(name, self._poll)), Failed)
        return Changeset(
            name,
            self._poll,
            self._deadlines,
            writable=zone.fresh and not unreadable,
            serial=content.serial,
            changes=tuple(change for change in plan.changes if change not in refusals),
            adjust=adjust,
            retries=() if plan.backlog else self._dependencies.responses.due(name),
        )
