"""Places at the edge: of each, the first claim on it, from which its endpoints judge whether they may have it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.hosts import host_of
from seamark.families.loadbalancer.kept import KeptPlaces, effective
from seamark.families.loadbalancer.reservations import Reservations
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint
from seamark_edge.claims import Claim, Endpoint, claim_of, deciding, judged_at, keeps_hosts, reserved, wildcard_above
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Answers
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Wanted
from seamark_runtime.source import Collection, Fresh, Source
from seamark_runtime.view import View

DOMAIN_TAKEN = "DomainTaken"


@dataclass(frozen=True, slots=True)
class Seen:
    where: str
    claims: tuple[Claim, ...]


def desire(_seen: Seen) -> Wanted:
    return Wanted()


def report(seen: Seen, _answers: Answers) -> Mapping[Hashable, Claim]:
    return {seen.where: min(seen.claims)} if seen.claims else {}


class Places:
    """The collection of places, and what endpoints read of it."""

    def __init__(self, reservations: Reservations, kept: KeptPlaces, *, any_binding: bool) -> None:
        self._reservations = reservations
        self._any_binding = any_binding
        self._kept = kept
        self.reports: Collection[Claim] = Collection("claims on places")
        self.reports.subscribe(self._noted)
        self._agents = Index(AgentEndpoint, self._keys, "agent endpoints that claim a place")
        self._clouds = Index(CloudEndpoint, self._keys, "cloud endpoints that claim a place")
        self._domains = Index(Domain, _reserved_key, "domains that the edge has reserved")

    def taken(self, view: View, endpoint: Endpoint) -> bool | None:
        """Whether another namespace has the place that this endpoint names; None if that is not known yet."""
        places = judged_at(endpoint)
        own = claim_of(endpoint, any_binding=self._any_binding)
        host, wildcard = (*(self._claim(view, where) for where in places), None, None)[:2]
        if not places or own is None:
            return False
        first = deciding(host, wildcard)
        if host is None or first is None:
            return None
        if first.namespace != endpoint.metadata.namespace:
            return True
        return first.refused and self._kept.starting(view)

    def kept_from(self, view: View, domain: Domain) -> bool:
        """Whether the name of a Domain is kept for another namespace that had it lately."""
        host, namespace = host_of(domain), domain.metadata.namespace
        own, above = self._kept.at(view, host), self._kept.at(view, wildcard_above(host))
        if any(one is not None and one.namespace != namespace for one in (own, above if keeps_hosts(above) else None)):
            return True
        if not was_taken(domain):
            return False
        first = self._claim(view, host)
        return (first is None or first.refused) and self._kept.starting(view)

    def _claim(self, view: View, where: str) -> Claim | None:
        return effective(self._first(view.reports(self.reports, where), where), self._kept.at(view, where))

    def _noted(self, _source: Source, where: Hashable) -> None:
        assert isinstance(where, str)
        self._kept.note(where, self._first(self.reports.about(where), where))

    @staticmethod
    def _first(reports: Mapping[Hashable, Claim], where: str) -> Claim | None:
        return reports.get(Key("", where))

    @property
    def sources(self) -> tuple[Source, ...]:
        """What keys read that ask whose a place is."""
        return self.reports, *self._kept.sources

    def _claims(self, view: View, key: Key) -> Iterable[Claim]:
        endpoints: tuple[Endpoint, ...] = (*view.by(self._agents, key), *view.by(self._clouds, key))
        for endpoint in endpoints:
            if found := claim_of(endpoint, any_binding=self._any_binding):
                yield found[1]
        for domain in view.by(self._domains, key):
            yield reserved(domain.metadata.namespace, domain.metadata.creation_timestamp or "")
        match view.fact(self._reservations.namespaces, key.name):
            case Fresh(value=namespace):
                yield reserved(namespace)

    def _observe(self, view: View, key: Key, _results: Results) -> Seen | None:
        return Seen(key.name, tuple(self._claims(view, key)))

    def _keys(self, endpoint: Any) -> tuple[Key, ...]:
        found = claim_of(endpoint, any_binding=self._any_binding)
        return () if found is None else (Key("", found[0]),)

    def group(self) -> CollectionController[Any]:
        return CollectionController(
            name="places",
            keyed={AgentEndpoint: self._keys, CloudEndpoint: self._keys, Domain: _key_of_domain},
            indexes=(self._agents, self._clouds, self._domains),
            sources=(self._reservations.namespaces,),
            observe=self._observe,
            desire=desire,
            report=report,
            reports=self.reports,
            companions=(self._kept.term,),
        )


def was_taken(domain: Domain) -> bool:
    """Whether it is refused by its status."""
    conditions = (domain.status.conditions if domain.status is not None else None) or ()
    return any(
        one.type == "DomainCreated" and (one.status, one.reason) == ("False", DOMAIN_TAKEN) for one in conditions
    )


def _key_of_domain(domain: Domain) -> tuple[Key, ...]:
    return (Key("", host_of(domain)),)


def _reserved_key(domain: Domain) -> tuple[Key, ...]:
    has_it = domain.status is not None and bool(domain.status.id)
    return _key_of_domain(domain) if has_it and not domain.deleting else ()
