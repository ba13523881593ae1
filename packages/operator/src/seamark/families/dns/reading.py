"""Which objects have records in a zone, read at the cost of what changed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from seamark.api.dns import MOST_TOLD, DNSEndpoint, DNSEndpointSpec
from seamark.api.dnssources import AddressedGateway, AddressedNode
from seamark.families.dns.ledger import Subject, claims_of
from seamark.families.dns.reconcile import LONGEST_WORDS, remembered
from seamark.families.dns.rules import Rules
from seamark.families.dns.sources import SOURCES, Around, SourceKind, endpoints_of, names_of, wants_ways_back
from seamark.families.dns.state import FINALIZER, NOT_ACCEPTED, Ref
from seamark.families.dns.wishes import REVERSE, Wishes, wishes
from seamark.providers.dns.model import Slot, zone_of
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.cache import Index
from seamark_runtime.untrusted.dnsnames import InvalidDnsName, canonical_name
from seamark_runtime.view import View

CRD = "crd"
MOST_READ = 100_000  # objects whose wishes are remembered
EVERYTHING = ""  # the one value of an index of all


class Readings:
    """What each DNSEndpoint wishes for, read once for each spec: the present one, and the one before it."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._read: dict[Key, tuple[tuple[DNSEndpointSpec, Wishes], ...]] = {}
        self._claims: dict[Key, tuple[Wishes, bool, Any]] = {}
        self._refused: dict[Key, frozenset[Slot]] = {}  # by the status that each object had when it was first read

    def wishes_of(self, endpoint: DNSEndpoint) -> Wishes:
        known = self._read.get(endpoint.key, ())
        for spec, found in known:
            if spec is endpoint.spec or spec == endpoint.spec:
                return found
        if len(self._read) >= MOST_READ:
            self._read.clear()
            self._claims.clear()
            self._refused.clear()
        found = wishes(endpoint.spec.endpoints, self._rules)
        self._read[endpoint.key] = ((endpoint.spec, found), *known[:1])
        return found

    def forget(self, key: Key) -> None:
        self._read.pop(key, None)
        self._claims.pop(key, None)
        self._refused.pop(key, None)

    def subject(self, endpoint: DNSEndpoint) -> Subject:
        meta, found = endpoint.metadata, self.wishes_of(endpoint)
        ref = Ref(CRD, meta.namespace, meta.name)
        settled = not self._rules.finalizing or FINALIZER in (meta.finalizers or ())
        known = self._claims.get(endpoint.key)
        if known is None or known[0] is not found or known[1] is not settled:
            refused = self._refused.setdefault(endpoint.key, refused_before(endpoint, found))
            known = (found, settled, claims_of(ref, found, settled=settled, refused=refused))
            self._claims[endpoint.key] = known
        return Subject(
            ref=ref,
            key=endpoint.key,
            uid=meta.uid,
            generation=meta.generation,
            wishes=found,
            claims=known[2],
            deleting=endpoint.deleting,
            settled=settled,
            hidden=hidden(endpoint, self._rules),
        )


def refused_before(endpoint: DNSEndpoint, found: Wishes) -> frozenset[Slot]:
    """The records that are a conflict by the object's status. Of very many, not all are shown."""
    rows = endpoint.status.endpoints if endpoint.status is not None else ()
    refused = {(row.dns_name, row.record_type) for row in rows if row.reason == "Conflict"}
    if not refused:
        return frozenset()
    cut = len(rows) >= MOST_TOLD and all(row.state == NOT_ACCEPTED for row in rows)
    shown = [(one.dns_name[:LONGEST_WORDS], one.record_type[:LONGEST_WORDS]) for one in endpoint.spec.endpoints]
    return frozenset(wish.record.slot for wish in found.wishes if cut or shown[wish.index] in refused)


def hidden(obj: Object, rules: Rules) -> bool:
    meta = obj.metadata
    if obj.deleting:
        return False  # what we have marked, we release
    if rules.namespace and meta.namespace != rules.namespace:
        return True
    return not (rules.labels.match(meta.labels) and rules.annotations.match(meta.annotations))


class Indexes:
    """What is asked of the cache: the objects of a zone, by source; and whether a source has any object at all."""

    def __init__(self, rules: Rules, readings: Readings) -> None:
        self._rules = rules
        self._readings = readings
        self.crd = Index(DNSEndpoint, self.zones_of, "endpoints of a zone", journalled=True)
        self.others: dict[SourceKind, Index[Any]] = {
            SOURCES[name]: Index(
                SOURCES[name].kind, partial(self.zones_of_other, SOURCES[name]), f"{name}s of a zone", journalled=True
            )
            for name in sorted(rules.sources & set(SOURCES))
        }
        self.nodes = Index(AddressedNode, _itself, "all nodes")
        kinds: dict[str, type[Object]] = {CRD: DNSEndpoint, **{name: one.kind for name, one in SOURCES.items()}}
        self.any: dict[str, Index[Any]] = {
            name: Index(kinds[name], _itself, f"any {name}") for name in sorted(rules.sources)
        }

    @property
    def reads_nodes(self) -> bool:
        return "service" in self._rules.sources

    @property
    def declared(self) -> tuple[Index[Any], ...]:
        crd = (self.crd,) if CRD in self._rules.sources else ()
        nodes = (self.nodes,) if self.reads_nodes else ()
        return (*crd, *self.others.values(), *self.any.values(), *nodes)

    def zones_of(self, endpoint: DNSEndpoint) -> Iterable[str]:
        known = [zone for zone in remembered(endpoint) if zone in self._rules.zones]
        return dict.fromkeys([*self._readings.wishes_of(endpoint).zones, *known])

    def zones_of_other(self, source: SourceKind, obj: Object) -> Iterable[str]:
        found = dict.fromkeys(zone for name in names_of(source, obj) if (zone := self._zone_of(name)) is not None)
        if found and wants_ways_back(obj, create_ptr=self._rules.create_ptr):
            found |= dict.fromkeys(zone for zone in self._rules.zones if zone.endswith(REVERSE))
        return found

    def _zone_of(self, name: str) -> str | None:
        try:
            return zone_of(canonical_name(name), self._rules.zones)
        except InvalidDnsName:
            return None


def _itself(_obj: Object) -> tuple[str]:
    return (EVERYTHING,)


@dataclass
class _Source:
    """How far a source has been read."""

    index: Index[Any]
    subject: Callable[[Any], Subject]
    forget: Callable[[Key], None] = lambda _key: None
    intent: bool = False
    mark: int = 0
    known: set[Key] = field(default_factory=set)


class ZoneReader:
    """The subjects of one zone that may have changed since the last look, None for those that are gone.

    A route leads to gateways and a NodePort Service to nodes. When those change, it is read again.
    """

    def __init__(self, zone: str, rules: Rules, readings: Readings, indexes: Indexes) -> None:
        self._zone = zone
        self._rules = rules
        self._indexes = indexes
        self._sources: list[_Source] = []
        if CRD in rules.sources:
            self._sources.append(_Source(indexes.crd, readings.subject, readings.forget, intent=True))
        for source, index in indexes.others.items():
            self._sources.append(_Source(index, partial(self._other, source)))
        self._around = Around()
        self._leaning: dict[Hashable, tuple[SourceKind, Any]] = {}  # who reads gateways or nodes

    def changed(self, view: View) -> dict[Hashable, Subject | None]:
        found: dict[Hashable, Subject | None] = self._look_around(view)
        for source in self._sources:
            found.update(self._since(view, source))
        return found

    def _since(self, view: View, source: _Source) -> Mapping[Hashable, Subject | None]:
        since = view.since(source.index, self._zone, source.mark, intent=source.intent)
        source.mark = since.mark
        objects: dict[Key, Any] = dict(since.changed)
        if since.whole:
            objects.update({key: None for key in source.known if key not in since.changed})
        found: dict[Hashable, Subject | None] = {}
        for key, obj in objects.items():
            if obj is None:
                source.known.discard(key)
                source.forget(key)
                found[self._key(source, key)] = None
                self._leaning.pop(self._key(source, key), None)
            else:
                source.known.add(key)
                subject = source.subject(obj)
                found[subject.key] = subject
        return found

    def _key(self, source: _Source, key: Key) -> Hashable:
        if source.index is self._indexes.crd:
            return key
        return next(kind.name for kind, index in self._indexes.others.items() if index is source.index), key

    # ---- objects of other kinds

    def _look_around(self, view: View) -> dict[Hashable, Subject | None]:
        """Every gateway that was read is asked for again, or its change would not requeue the zone; who leans on it
        is, too."""
        nodes = view.by(self._indexes.nodes, EVERYTHING) if self._indexes.reads_nodes else ()
        around = Around(partial(view.get, AddressedGateway), nodes, dict(self._around.read))
        for key in self._around.read:
            around.gateway(key)
        news = around.read != self._around.read or nodes != self._around.nodes
        self._around = around
        if not news:
            return {}
        return {key: self._other(source, obj) for key, (source, obj) in list(self._leaning.items())}

    def _other(self, source: SourceKind, obj: Any) -> Subject:
        subject = other_subject(source, obj, self._around, self._rules)
        self._leaning.pop(subject.key, None)
        if source.leans(obj):
            self._leaning[subject.key] = (source, obj)
        return subject


def other_subject(source: SourceKind, obj: Any, around: Around, rules: Rules) -> Subject:
    """An object of another kind than DNSEndpoint, by its annotations and status."""
    meta = obj.metadata
    ref = Ref(source.name, meta.namespace, meta.name)
    found = wishes(endpoints_of(source, obj, around, create_ptr=rules.create_ptr), rules)
    return Subject(
        ref=ref,
        key=(source.name, obj.key),
        uid=meta.uid,
        generation=meta.generation,
        wishes=found,
        claims=claims_of(ref, found, settled=True),
        hidden=hidden(obj, rules) or found == Wishes(),  # without an address, what stands is let alone
    )
