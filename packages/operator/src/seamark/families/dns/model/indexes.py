"""Which objects have records in a zone: the indexes of the family, and what each object desires."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from seamark.api.dns import DNSEndpoint, DNSEndpointSpec
from seamark.api.dnssources import AddressedNode
from seamark.families.dns.model.desired import REVERSE, DesiredRecords, desired_records
from seamark.families.dns.model.entries import CRD, remembered_zones, zone_key
from seamark.families.dns.model.rules import Rules
from seamark.families.dns.sources.annotations import wants_reverse_records
from seamark.families.dns.sources.endpoints import names_of
from seamark.families.dns.sources.kinds import SOURCES, SourceKind
from seamark.providers.dns.model import zone_of
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.cache import Index
from seamark_runtime.untrusted.dnsnames import InvalidDnsName, canonical_name, within

MOST_READ = 100_000  # objects whose desired records are kept
EVERYTHING = ""  # the one value of an index of all


class SpecReader:
    """What each DNSEndpoint desires, parsed once for each spec: the present one, and the one before it.

    The result depends on the spec and the rules alone, so it is no memory: without what is kept, results are the same
    and take longer. The index keeps it (`keep`), once per change of the object; decisions only read it (`desired`).
    """

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._read: dict[Key, tuple[tuple[DNSEndpointSpec, DesiredRecords], ...]] = {}

    def desired(self, endpoint: DNSEndpoint) -> DesiredRecords:
        """Changes nothing."""
        found = self._kept(endpoint)
        return found if found is not None else desired_records(endpoint.spec.endpoints, self._rules)

    def keep(self, endpoint: DNSEndpoint) -> DesiredRecords:
        if (found := self._kept(endpoint)) is not None:
            return found
        if len(self._read) >= MOST_READ:
            self._read.clear()
        found = desired_records(endpoint.spec.endpoints, self._rules)
        self._read[endpoint.key] = ((endpoint.spec, found), *self._read.get(endpoint.key, ())[:1])
        return found

    def _kept(self, endpoint: DNSEndpoint) -> DesiredRecords | None:
        known = self._read.get(endpoint.key, ())
        return next((found for spec, found in known if spec is endpoint.spec or spec == endpoint.spec), None)

    def forget(self, key: Key) -> None:
        self._read.pop(key, None)


def hidden(obj: Object, rules: Rules) -> bool:
    """Whether a filter excludes the object."""
    meta = obj.metadata
    if obj.deleting:
        return False  # what we have marked, we release
    if rules.namespace and meta.namespace != rules.namespace:
        return True
    return not (rules.labels.match(meta.labels) and rules.annotations.match(meta.annotations))


class Indexes:
    """The objects of a zone, by source; and whether a source has any object at all."""

    def __init__(self, rules: Rules, specs: SpecReader) -> None:
        self._rules = rules
        self._specs = specs
        self.crd = Index(DNSEndpoint, self.zones_of, "endpoints of a zone", journalled=True)
        self.others: dict[SourceKind, Index[Any]] = {
            SOURCES[name]: Index(
                SOURCES[name].kind, partial(self.zones_of_other, SOURCES[name]), f"{name}s of a zone", journalled=True
            )
            for name in sorted(rules.sources & set(SOURCES))
        }
        self.nodes = Index(AddressedNode, _everything, "all nodes")
        kinds: dict[str, type[Object]] = {CRD: DNSEndpoint, **{name: source.kind for name, source in SOURCES.items()}}
        self.any: dict[str, Index[Any]] = {
            name: Index(kinds[name], _everything, f"any {name}") for name in sorted(rules.sources)
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
        known = [zone for zone in remembered_zones(endpoint) if zone in self._rules.zones]
        return dict.fromkeys([*self._specs.keep(endpoint).zones, *known])

    def zones_of_other(self, source: SourceKind, obj: Object) -> Iterable[str]:
        found = dict.fromkeys(zone for name in names_of(source, obj) for zone in self._zones_of_name(source, name))
        if found and wants_reverse_records(obj, create_ptr=self._rules.create_ptr):
            found |= dict.fromkeys(zone for zone in self._rules.zones if zone.endswith(REVERSE))
        return found

    def keys(self) -> dict[type[Object], Callable[[Any], Iterable[Key]]]:
        """By kind: the keys of the zones in which an object has records."""
        found: dict[type[Object], Callable[[Any], Iterable[Key]]] = {
            source.kind: partial(self._keys_of_other, source) for source in self.others
        }
        if CRD in self._rules.sources:
            found[DNSEndpoint] = lambda endpoint: list(map(zone_key, self.zones_of(endpoint)))
        return found

    def _keys_of_other(self, source: SourceKind, obj: Any) -> Iterable[Key]:
        return list(map(zone_key, self.zones_of_other(source, obj)))

    def _zones_of_name(self, source: SourceKind, name: str) -> Iterable[str]:
        """Where its records may be: a wildcard that listeners narrow may be served under a name of a zone below it."""
        try:
            canonical = canonical_name(name)
        except InvalidDnsName:
            return ()
        longest = zone_of(canonical, self._rules.zones)
        found = () if longest is None else (longest,)
        if source.served is None or not canonical.startswith("*."):
            return found
        return (*found, *(zone for zone in self._rules.zones if within(zone, canonical[2:])))


def _everything(_obj: Object) -> tuple[str]:
    return (EVERYTHING,)
