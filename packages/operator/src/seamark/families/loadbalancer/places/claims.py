"""The claims on a place: of endpoints, of reserved Domains, and of Services with reserved addresses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.model.hosts import host_of
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint
from seamark_edge.claims import Claim, Endpoint, claim_of, reserved
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.source import Facts, Fresh
from seamark_runtime.view import View


class PlaceClaims:
    """Reads the claims on a place. `any_binding`: endpoints may be bound into any namespace."""

    def __init__(self, reservations: Facts[str, str], *, any_binding: bool) -> None:
        self._any_binding = any_binding
        self.reservations = reservations
        self.agents = Index(AgentEndpoint, self.keys, "agent endpoints that claim a place")
        self.clouds = Index(CloudEndpoint, self.keys, "cloud endpoints that claim a place")

    @property
    def indexes(self) -> tuple[Index[Any], ...]:
        return self.agents, self.clouds, RESERVED_DOMAINS

    def keys(self, endpoint: Any) -> tuple[Key, ...]:
        found = claim_of(endpoint, any_binding=self._any_binding)
        return () if found is None else (Key("", found[0]),)

    def at(self, view: View, key: Key) -> tuple[Claim, ...]:
        return tuple(self._at(view, key))

    def _at(self, view: View, key: Key) -> Iterator[Claim]:
        endpoints: tuple[Endpoint, ...] = (*view.by(self.agents, key), *view.by(self.clouds, key))
        for endpoint in endpoints:
            if found := claim_of(endpoint, any_binding=self._any_binding):
                yield found[1]
        for domain in view.by(RESERVED_DOMAINS, key):
            yield reserved(domain.metadata.namespace, domain.metadata.creation_timestamp or "")
        match view.fact(self.reservations, key.name):
            case Fresh(value=namespace):
                yield reserved(namespace)


def key_of_domain(domain: Domain) -> tuple[Key, ...]:
    return (Key("", host_of(domain)),)


def _reserved_key(domain: Domain) -> tuple[Key, ...]:
    has_it = domain.status is not None and bool(domain.status.id)
    return key_of_domain(domain) if has_it and not domain.deleting else ()


RESERVED_DOMAINS = Index(Domain, _reserved_key, "domains that the edge has reserved")
