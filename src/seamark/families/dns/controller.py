"""The wiring: objects → wishes → zones → reports → status."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from seamark.api.dns import DNSEndpoint, DNSEndpointSpec
from seamark.api.dnssources import GATEWAY, AddressedGateway
from seamark.api.meta import Key, Object
from seamark.core.cache import Index
from seamark.core.calls import Results
from seamark.core.controller import Controller, Group
from seamark.core.source import Fresh, Reports, Stale
from seamark.core.status import ByManager
from seamark.core.view import View
from seamark.core.waker import Declaration
from seamark.families.dns import zone as zones
from seamark.families.dns.plan import Claim, Planner
from seamark.families.dns.reconcile import Seen, announce, desire, judge, remembered
from seamark.families.dns.registry import Registry
from seamark.families.dns.rules import Rules
from seamark.families.dns.sources import SOURCES, SourceKind, endpoints_of, names_of
from seamark.families.dns.state import CONDITIONS, FINALIZER, ZONES, Ref, ZoneReport
from seamark.families.dns.wishes import Wishes, wishes
from seamark.families.dns.work import Work
from seamark.families.dns.zone import SeenZone, Subject
from seamark.providers.dns.model import Provider, zone_of
from seamark.providers.dns.names import BadName, normal

SOURCE = "crd"
Claims = Mapping[str, tuple[Claim, ...]]  # by zone
MOST_READ = 100_000  # objects whose wishes are remembered


@dataclass(frozen=True)
class Timing:
    """`spacing`: at least so long between two plans of a zone. `poll`: how often the serial is asked for."""

    spacing: float = 0.5
    poll: float = 30.0
    shelf_life: float = 120.0


class Wiring:
    """What the keys of the family share: the rules, and what each object wishes for, read once for each spec."""

    def __init__(self, provider: Provider, rules: Rules, timing: Timing) -> None:
        self._rules = rules
        self._timing = timing
        self._read: dict[Key, tuple[DNSEndpointSpec, Wishes]] = {}
        self._claims: dict[Key, tuple[Wishes, bool, Claims]] = {}
        self._subjects: dict[str, dict[Key, tuple[DNSEndpoint, Subject]]] = {zone: {} for zone in rules.zones}
        self._planners = {zone: Planner(rules, Registry(rules)) for zone in rules.zones}
        self.work = Work(provider, timing.shelf_life)
        self.reports: Reports[ZoneReport] = Reports("zone reports")
        self.of_zone = Index(DNSEndpoint, self.zones_of, "endpoints of a zone")
        self.others = {
            SOURCES[name]: Index(SOURCES[name].kind, partial(self.zones_of_other, SOURCES[name]), f"{name}s of a zone")
            for name in sorted(rules.sources & set(SOURCES))
        }

    def wishes_of(self, endpoint: DNSEndpoint) -> Wishes:
        known = self._read.get(endpoint.key)
        if known is not None and known[0] == endpoint.spec:
            return known[1]
        if len(self._read) >= MOST_READ:
            self._read.clear()
            self._claims.clear()
        found = wishes(endpoint.spec.endpoints, self._rules)
        self._read[endpoint.key] = (endpoint.spec, found)
        return found

    def zones_of(self, endpoint: DNSEndpoint) -> Iterable[str]:
        known = [zone for zone in remembered(endpoint) if zone in self._rules.zones]
        return dict.fromkeys([*self.wishes_of(endpoint).zones, *known])

    def zones_of_other(self, source: SourceKind, obj: Object) -> Iterable[str]:
        return dict.fromkeys(zone for name in names_of(source, obj) if (zone := self._zone_of(name)) is not None)

    def keyed(self, source: SourceKind) -> Callable[[Any], list[Key]]:
        return lambda obj: keys(self.zones_of_other(source, obj))

    def _zone_of(self, name: str) -> str | None:
        try:
            return zone_of(normal(name), self._rules.zones)
        except BadName:
            return None

    def hidden(self, endpoint: Object) -> bool:
        rules, meta = self._rules, endpoint.metadata
        if endpoint.deleting:
            return False  # what we have marked, we let go
        if rules.namespace and meta.namespace != rules.namespace:
            return True
        return not (rules.labels.match(meta.labels) and rules.annotations.match(meta.annotations))

    # ---- a zone

    def observe_zone(self, view: View, key: Key, results: Results) -> SeenZone | None:
        zone = "" if key.name == "." else key.name
        found = view.by(self.of_zone, zone)
        if not found and not self.others:
            return None  # objects of other kinds have no finalizer: after the last of them there is still work
        subjects = (*self._subjects_of(zone, found), *self._other_subjects(view, zone))
        fact = view.fact(self.work.contents, zone)
        content = fact.value if isinstance(fact, Fresh | Stale) else None
        refused = view.fact(self.work.refusals, zone)
        plan = None
        if content is not None:
            plan = self._planners[zone].plan(content, zones.claims(zone, subjects), zones.held(subjects))
        self.work.metrics.planned(zone, subjects, plan, content)
        return SeenZone(
            zone=zone,
            subjects=subjects,
            content=content,
            fresh=isinstance(fact, Fresh),
            plan=plan,
            refusals=refused.value if isinstance(refused, Fresh) else {},
            results=results,
            every=self._timing.poll,
            at=zones.affected(plan),
        )

    def _subjects_of(self, zone: str, found: tuple[DNSEndpoint, ...]) -> tuple[Subject, ...]:
        """An object that is the same as in the last pass is the same subject."""
        before, after = self._subjects[zone], {}
        for endpoint in found:
            key = endpoint.key
            known = before.get(key)
            after[key] = known if known is not None and known[0] is endpoint else (endpoint, self.subject(endpoint))
        self._subjects[zone] = after
        return tuple(subject for _, subject in after.values())

    def _other_subjects(self, view: View, zone: str) -> Iterator[Subject]:
        for source, index in self.others.items():
            for obj in view.by(index, zone):
                meta = obj.metadata
                ref = Ref(source.name, meta.namespace, meta.name)
                found = wishes(endpoints_of(source, obj, partial(view.get, AddressedGateway)), self._rules)
                yield Subject(
                    ref=ref,
                    key=(source.name, obj.key),
                    uid=meta.uid,
                    generation=meta.generation,
                    wishes=found,
                    claims=zones.claims_of(ref, found, settled=True),
                    hidden=self.hidden(obj) or found == Wishes(),  # without an address, what stands is let alone
                )

    def subject(self, endpoint: DNSEndpoint) -> Subject:
        meta, found = endpoint.metadata, self.wishes_of(endpoint)
        ref = Ref(SOURCE, meta.namespace, meta.name)
        settled = not self._rules.finalizing or FINALIZER in (meta.finalizers or ())
        return Subject(
            ref=ref,
            key=endpoint.key,
            uid=meta.uid,
            generation=meta.generation,
            wishes=found,
            claims=self._claims_of(endpoint, ref, found, settled=settled),
            deleting=endpoint.deleting,
            settled=settled,
            hidden=self.hidden(endpoint),
        )

    def _claims_of(self, endpoint: DNSEndpoint, ref: Ref, found: Wishes, *, settled: bool) -> Claims:
        """The same claims as long as they say the same: what was planned for them then stands."""
        known = self._claims.get(endpoint.key)
        if known is None or known[0] is not found or known[1] is not settled:
            known = (found, settled, zones.claims_of(ref, found, settled=settled))
            self._claims[endpoint.key] = known
        return known[2]

    # ---- an object

    def observe(self, view: View, endpoint: DNSEndpoint, _results: Results) -> Seen | None:
        if self.hidden(endpoint):
            return None
        meta, found = endpoint.metadata, self.wishes_of(endpoint)
        said = {
            "" if key.name == "." else key.name: report
            for key, report in view.reports(self.reports, endpoint.key).items()
            if (report.uid, report.generation, report.wishes) == (meta.uid, meta.generation, found)
        }
        return Seen(endpoint, found, said, self._rules)


def keys(found: Iterable[str]) -> list[Key]:
    return [Key("", zone or ".") for zone in found]


def gateway_kinds(sources: Iterable[SourceKind]) -> tuple[type[Object], ...]:
    """Those of the Gateway API that are read, with the gateways that routes lead to."""
    found: list[type[Object]] = [source.kind for source in sources if source.kind.RESOURCE.group == GATEWAY]
    return tuple(dict.fromkeys([*found, AddressedGateway])) if found else ()


def controllers(provider: Provider, rules: Rules, timing: Timing | None = None) -> tuple[Declaration, ...]:
    timing = timing or Timing()
    wiring = Wiring(provider, rules, timing)
    return (
        Group(
            name="dnszones",
            keyed={
                DNSEndpoint: lambda endpoint: keys(wiring.zones_of(endpoint)),
                **{source.kind: wiring.keyed(source) for source in wiring.others},
            },
            optional=gateway_kinds(wiring.others),  # the Gateway API may not be installed
            indexes=(wiring.of_zone, *wiring.others.values()),
            sources=(wiring.work.contents, wiring.work.refusals),
            observe=wiring.observe_zone,
            desire=zones.desire,
            report=zones.report,
            reports=wiring.reports,
            perform=wiring.work.perform,
            spacing=timing.spacing,
            collectors=wiring.work.metrics.collectors,
        ),
        Controller(
            name="dnsendpoints",
            kind=DNSEndpoint,
            indexes=(wiring.of_zone,),
            sources=(wiring.reports,),
            observe=wiring.observe,
            desire=desire,
            judge=judge,
            announce=announce,
            status=ByManager(manager="seamark-dns", conditions=CONDITIONS, fields=("endpoints",)),
            finalizer=FINALIZER,
            annotations=(ZONES,),
            shelf_life=timing.shelf_life,
            linger=4 * timing.spacing + 2.0,
        ),
    )
