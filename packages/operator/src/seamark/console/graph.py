"""The map of endpoints as a collection: one key per endpoint, reconciled when any hop that it depends on changes.

- The same walk as `seamark explain`, over caches instead of requests.
- Objects are kept as plain JSON without their managed fields. Secrets are not followed: they are hidden hops.
- Nothing is written. Each walk becomes an entry; viewers are notified of changed entries.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import msgspec

from seamark.explain import kinds
from seamark.explain.links import Having, hosts, owners, workload_of
from seamark.explain.model import Hop, Raw
from seamark.explain.reader import Forbidden, Missing
from seamark.explain.walk import Meaning, Walk, no_meaning
from seamark_runtime.api.meta import Key, Object, Resource
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Wanted
from seamark_runtime.source import Collection
from seamark_runtime.view import View

ENDPOINTS = (
    *(kinds.WORKLOAD, kinds.DNS_ENDPOINT, kinds.BOUND_ENDPOINT, kinds.GREETING),
    *(kinds.SERVICE, kinds.INGRESS, kinds.GATEWAYS, *kinds.ROUTES),
)


class Shown(Object, frozen=True, kw_only=True):
    """An object of any kind, as far as a person is shown it."""

    spec: dict[str, Any] | None = None
    status: dict[str, Any] | None = None
    endpoints: list[dict[str, Any]] | None = None  # of an EndpointSlice


def _shown(resource: Resource) -> type[Shown]:
    return type(f"Shown{resource.kind}", (Shown,), {"RESOURCE": resource, "__module__": __name__}, frozen=True)


FOLLOWED = {resource: _shown(resource) for resource in kinds.KINDS if resource != kinds.SECRET}


def _tokens(obj: Shown) -> Iterator[Hashable]:
    """Everything that an object can be asked for by."""
    raw, namespace = plain(obj), obj.metadata.namespace
    yield namespace
    for uid in owners(raw):
        yield namespace, "owner", uid
    for name, value in (obj.metadata.labels or {}).items():
        yield namespace, name, value
    yield namespace, "workload", workload_of(raw)
    if obj.RESOURCE == kinds.DNS_ENDPOINT:
        yield from ((namespace, "host", host) for host in hosts(raw))


INDEXES = {resource: Index(kind, _tokens, "everything") for resource, kind in FOLLOWED.items()}


def plain(obj: Shown) -> Raw:
    made: Raw = msgspec.to_builtins(obj)
    return made


class CacheBook:
    """Reads from the caches, which records what the key depends on."""

    def __init__(self, view: View) -> None:
        self._view = view

    def get(self, resource: Resource, key: Key) -> Raw | Missing | Forbidden:
        kind = FOLLOWED.get(resource)
        if kind is None:
            return Forbidden("the console does not read it")
        found = self._view.get(kind, key)
        return Missing() if found is None else plain(found)

    def all(self, having: Having) -> list[Raw] | Missing | Forbidden:
        index = INDEXES.get(having.resource)
        if index is None:
            return Forbidden("the console does not read it")
        found: dict[Key, Shown] = {one.key: one for token in _question(having) for one in self._view.by(index, token)}
        return [raw for one in found.values() if having.fits(raw := plain(one))]


def _question(having: Having) -> list[Hashable]:
    """The narrowest question that has all the answers."""
    namespace = having.namespace
    if having.owner:
        return [(namespace, "owner", having.owner)]
    if having.workload:
        return [(namespace, "workload", having.workload)]
    if having.hosts:
        return [(namespace, "host", host) for host in sorted(having.hosts)]
    if having.labels:
        return [(namespace, *having.labels[0])]
    return [namespace]


# ---- the declaration


def identity(resource: Resource, key: Key) -> Key:
    """The key of an endpoint: several kinds share the keys of one group."""
    return Key(key.namespace, f"{resource}/{key.name}")


def endpoint(at: Key) -> tuple[Resource, Key]:
    named, _, name = at.name.rpartition("/")
    return _BY_NAME[named], Key(at.namespace, name)


_BY_NAME = {str(resource): resource for resource in ENDPOINTS}


def shows(obj: Shown) -> bool:
    """Whether it is an endpoint: of Services only those that are reachable from outside."""
    return obj.RESOURCE != kinds.SERVICE or (obj.spec or {}).get("type") in ("LoadBalancer", "ExternalName")


def graph(reports: Collection[Hop], meaning: Meaning = no_meaning) -> CollectionController[Hop]:
    def observe(view: View, at: Key, _results: Results) -> Hop | None:
        resource, key = endpoint(at)
        obj = view.get(FOLLOWED[resource], key)
        return None if obj is None or not shows(obj) else Walk(CacheBook(view), meaning).explain(resource, key)

    def keys(obj: Shown) -> Iterator[Key]:
        if shows(obj):
            yield identity(obj.RESOURCE, obj.key)

    return CollectionController(
        name="console",
        keyed={FOLLOWED[resource]: keys for resource in ENDPOINTS},
        optional=tuple(FOLLOWED.values()),
        indexes=tuple(INDEXES.values()),
        observe=observe,
        desire=lambda _hop: Wanted(),
        report=lambda hop, _answers: {identity(hop.resource, hop.key): hop},
        reports=reports,
        spacing=0.2,
    )
