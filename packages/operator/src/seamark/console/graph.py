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
from seamark.explain.links import Selection, hosts, owners, workload_of
from seamark.explain.model import Hop, Raw
from seamark.explain.reader import Forbidden, Missing
from seamark.explain.walk import Meaning, Walk, no_meaning
from seamark_runtime.api.meta import Key, Object, Resource
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Output, Reads, Timing, Wanted
from seamark_runtime.source import Collection
from seamark_runtime.view import View

ENDPOINTS = (
    *(kinds.WORKLOAD, kinds.DNS_ENDPOINT, kinds.BOUND_ENDPOINT, kinds.GREETING),
    *(kinds.SERVICE, kinds.INGRESS, kinds.GATEWAYS, *kinds.ROUTES),
)


class PlainObject(Object, frozen=True, kw_only=True):
    """An object of any kind, with the fields that users see."""

    spec: dict[str, Any] | None = None
    status: dict[str, Any] | None = None
    endpoints: list[dict[str, Any]] | None = None  # of an EndpointSlice


def _plain_kind(resource: Resource) -> type[PlainObject]:
    return type(f"Shown{resource.kind}", (PlainObject,), {"RESOURCE": resource, "__module__": __name__}, frozen=True)


FOLLOWED = {resource: _plain_kind(resource) for resource in kinds.KINDS if resource != kinds.SECRET}


def _tokens(obj: PlainObject) -> Iterator[Hashable]:
    """All index keys of an object."""
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


def plain(obj: PlainObject) -> Raw:
    made: Raw = msgspec.to_builtins(obj)
    return made


class CacheLookup:
    """Reads from the caches, which records what the key depends on."""

    def __init__(self, view: View) -> None:
        self._view = view

    def get(self, resource: Resource, key: Key) -> Raw | Missing | Forbidden:
        kind = FOLLOWED.get(resource)
        if kind is None:
            return Forbidden("the console does not read it")
        found = self._view.get(kind, key)
        return Missing() if found is None else plain(found)

    def all(self, selection: Selection) -> list[Raw] | Missing | Forbidden:
        index = INDEXES.get(selection.resource)
        if index is None:
            return Forbidden("the console does not read it")
        found: dict[Key, PlainObject] = {
            obj.key: obj for token in _index_keys(selection) for obj in self._view.by(index, token)
        }
        return [raw for obj in found.values() if selection.matches(raw := plain(obj))]


def _index_keys(selection: Selection) -> list[Hashable]:
    """The narrowest index keys that cover the selection."""
    namespace = selection.namespace
    if selection.owner:
        return [(namespace, "owner", selection.owner)]
    if selection.workload:
        return [(namespace, "workload", selection.workload)]
    if selection.hosts:
        return [(namespace, "host", host) for host in sorted(selection.hosts)]
    if selection.labels:
        return [(namespace, *selection.labels[0])]
    return [namespace]


# ---- the declaration


def identity(resource: Resource, key: Key) -> Key:
    """The key of an endpoint: several kinds share the keys of one group."""
    return Key(key.namespace, f"{resource}/{key.name}")


def endpoint(at: Key) -> tuple[Resource, Key]:
    named, _, name = at.name.rpartition("/")
    return _BY_NAME[named], Key(at.namespace, name)


_BY_NAME = {str(resource): resource for resource in ENDPOINTS}


def is_endpoint(obj: PlainObject) -> bool:
    """Whether it is an endpoint: of Services only those that are reachable from outside."""
    return obj.RESOURCE != kinds.SERVICE or (obj.spec or {}).get("type") in ("LoadBalancer", "ExternalName")


def graph(endpoints: Collection[Key, Hop], meaning: Meaning = no_meaning) -> CollectionController[Hop]:
    def observe(view: View, at: Key, _results: Results) -> Hop | None:
        resource, key = endpoint(at)
        obj = view.get(FOLLOWED[resource], key)
        return None if obj is None or not is_endpoint(obj) else Walk(CacheLookup(view), meaning).explain(resource, key)

    def keys(obj: PlainObject) -> Iterator[Key]:
        if is_endpoint(obj):
            yield identity(obj.RESOURCE, obj.key)

    return CollectionController(
        name="console",
        keyed={FOLLOWED[resource]: keys for resource in ENDPOINTS},
        observe=observe,
        desire=lambda _hop: Wanted(),
        outputs=(Output(endpoints, lambda hop, _answers: {identity(hop.resource, hop.key): hop}),),
        reads=Reads(optional=tuple(FOLLOWED.values()), indexes=tuple(INDEXES.values())),
        timing=Timing(spacing=0.2),
    )
