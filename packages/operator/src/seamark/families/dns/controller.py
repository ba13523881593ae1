"""The wiring: objects → wishes → zones → reports → status."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from seamark.api.dns import DNSEndpoint
from seamark.api.dnssources import AddressedGateway, AddressedNode
from seamark.families.dns import notices, objects
from seamark.families.dns import zone as zones
from seamark.families.dns.ledger import Ledger
from seamark.families.dns.reading import CRD, EVERYTHING, Indexes, Readings, ZoneReader, hidden
from seamark.families.dns.reconcile import Seen, announce, desire, judge
from seamark.families.dns.rules import Rules
from seamark.families.dns.sources import SourceKind
from seamark.families.dns.state import CONDITIONS, FINALIZER, ZONES, ZoneReport
from seamark.families.dns.work import Work
from seamark.families.dns.zone import SeenZone
from seamark.providers.dns.model import Provider
from seamark_runtime.api.gatewayshared import GROUP as GATEWAY
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.competing import CompetingControllers
from seamark_runtime.controller import CollectionController, Controller, Declaration, Wanted, guarded
from seamark_runtime.source import Collection, Fresh, Stale
from seamark_runtime.status import ByManager, NoStatus
from seamark_runtime.view import View


@dataclass(frozen=True)
class Timing:
    """`spacing`: at least so long between two plans of a zone. `poll`: how often the serial is asked for."""

    spacing: float = 0.5
    poll: float = 30.0
    shelf_life: float = 120.0


class Wiring:
    """What the keys of the family share: the rules, what each object wishes for, and a ledger for each zone."""

    def __init__(self, provider: Provider, rules: Rules, timing: Timing) -> None:
        self.rules = rules
        self._timing = timing
        self._readings = Readings(rules)
        self.indexes = Indexes(rules, self._readings)
        self._readers = {zone: ZoneReader(zone, rules, self._readings, self.indexes) for zone in rules.zones}
        self._living = rules.sources if rules.empty_deletes else frozenset[str]()
        self.work = Work(provider, timing.shelf_life)
        self._ledgers = {zone: Ledger(zone, rules, self.work.adjusted(zone)) for zone in rules.zones}
        self.reports: Collection[ZoneReport] = Collection("zone reports")
        self.competing = CompetingControllers("owner id", rules.owner, self.belongs())

    def keyed(self, source: SourceKind) -> Callable[[Any], list[Key]]:
        return lambda obj: keys(self.indexes.zones_of_other(source, obj))

    def keyed_endpoint(self, endpoint: DNSEndpoint) -> list[Key]:
        return keys(self.indexes.zones_of(endpoint))

    def belongs(self) -> dict[type[Object], Callable[[Any], Iterable[Key]]]:
        """The zones in which an object wishes for records, by its kind."""
        found: dict[type[Object], Callable[[Any], Iterable[Key]]] = {
            source.kind: self.keyed(source) for source in self.indexes.others
        }
        if CRD in self.rules.sources:
            found[DNSEndpoint] = self.keyed_endpoint
        return found

    # ---- a zone

    def observe_zone(self, view: View, key: Key, results: Results) -> SeenZone:
        zone = zone_named(key)
        ledger = self._ledgers[zone]
        fact = view.fact(self.work.contents, zone)
        content = fact.value if isinstance(fact, Fresh | Stale) else None
        refused = view.fact(self.work.refusals, zone)
        view.fact(self.work.adjustments, zone)  # its content is in the plan already; a new one requeues the zone
        view.requeue_at = min(view.requeue_at, self.work.expire(zone, view.now))
        ledger.follow(content, self._readers[zone].changed(view), self._alive(view), view.now)
        view.requeue_at = min(view.requeue_at, ledger.plan.next_end)
        self.competing.seen_outside(view, key, f"in the zone {zone or '.'}", ledger.plan.registry.strangers)
        seen = SeenZone(
            ledger=ledger,
            subjects={},
            fresh=isinstance(fact, Fresh),
            refusals=refused.value if isinstance(refused, Fresh) else {},
            due=self.work.due(zone, ledger.plan),
            results=results,
            every=self._timing.poll,
        )
        ledger.heard((content is not None, seen.fresh, zones.trouble(seen).words), seen.refusals)
        self.work.metrics.planned(ledger)
        if ledger.more:
            view.requeue_at = view.now
        return replace(seen, subjects=ledger.news())

    def desire(self, seen: SeenZone) -> Wanted:
        """While a large change is planned, what was wanted stays wanted."""
        if not seen.plan.backlog or seen.ledger.wanted is None:
            seen.ledger.wanted = zones.desire(seen)
        return seen.ledger.wanted

    def report(self, seen: SeenZone, answers: Answers) -> Mapping[Hashable, ZoneReport | None]:
        said = zones.report(seen, answers)
        seen.ledger.told(said)
        return said

    def _alive(self, view: View) -> frozenset[str]:
        """The sources that have had an object since we look."""
        missing = [name for name in sorted(self.rules.sources) if name not in self._living]
        found = [name for name in missing if view.by(self.indexes.any[name], EVERYTHING)]
        if found:
            self._living = self._living | frozenset(found)
        return self._living

    # ---- an object

    def observe(self, view: View, endpoint: DNSEndpoint, _results: Results) -> Seen | None:
        if hidden(endpoint, self.rules):
            return None
        meta, found = endpoint.metadata, self._readings.wishes_of(endpoint)
        said = {
            zone_named(key): report
            for key, report in view.reports(self.reports, endpoint.key).items()
            if (report.uid, report.generation, report.wishes) == (meta.uid, meta.generation, found)
        }
        return Seen(endpoint, found, said, self.rules)


def keys(found: Iterable[str]) -> list[Key]:
    return [Key("", zone or ".") for zone in found]


def zone_named(key: Key) -> str:
    return "" if key.name == "." else key.name


def optional_kinds(sources: Iterable[SourceKind]) -> tuple[type[Object], ...]:
    """Those of the Gateway API that are read, with the gateways that routes lead to: it may not be installed."""
    found: list[type[Object]] = [source.kind for source in sources if source.kind.RESOURCE.group == GATEWAY]
    return tuple(dict.fromkeys([*found, AddressedGateway])) if found else ()


def controllers(provider: Provider, rules: Rules, timing: Timing | None = None) -> tuple[Declaration, ...]:
    timing = timing or Timing()
    wiring = Wiring(provider, rules, timing)
    declared: tuple[Declaration, ...] = (zones_group(wiring, timing),)
    if CRD in rules.sources:
        declared = (*declared, endpoints_controller(wiring, timing))
    return guarded(wiring.competing, *declared, *objects.declarations(rules), *notices.declarations(rules))


def zones_group(wiring: Wiring, timing: Timing) -> CollectionController[SeenZone]:
    return CollectionController(
        name="dnszones",
        keyed=wiring.belongs(),
        always=tuple(keys(wiring.rules.zones)),  # what is left of ours in a zone that no object names is found, too
        reads=(AddressedNode,) if wiring.indexes.reads_nodes else (),
        optional=optional_kinds(wiring.indexes.others),
        indexes=wiring.indexes.declared,
        sources=(wiring.work.contents, wiring.work.refusals, wiring.work.adjustments),
        observe=wiring.observe_zone,
        desire=wiring.desire,
        report=wiring.report,
        reports=wiring.reports,
        amends=True,
        perform=wiring.work.perform,
        spacing=timing.spacing,
        collectors=wiring.work.metrics.collectors,
    )


def endpoints_controller(wiring: Wiring, timing: Timing) -> Controller[Seen]:
    said = ByManager(manager="seamark-dns", conditions=CONDITIONS, fields=("endpoints",))
    return Controller(
        name="dnsendpoints",
        kind=DNSEndpoint,
        indexes=(wiring.indexes.crd,),
        sources=(wiring.reports,),
        observe=wiring.observe,
        desire=desire,
        judge=judge,
        announce=announce,
        status=said if wiring.rules.update_status else NoStatus(),
        finalizer=FINALIZER,
        annotations=(ZONES,),
        shelf_life=timing.shelf_life,
        linger=4 * timing.spacing + 2.0,
    )
