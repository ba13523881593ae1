"""Where a route is served: at the gateways of parents that have accepted it, under names of their listeners. Pure.

- A parent counts that has accepted the route in its present generation. Until every parent that had accepted it before
  has answered for that generation, nothing is known about its targets, and its records are left as they are.
- A name of the route leads to the gateways with a listener for it. A wildcard and a more specific name of a listener
  are served under the specific one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeVar

from seamark.api.dnssources import NamedRoute
from seamark.families.dns.sources.annotations import annotation, listed
from seamark.gatewayapi.attachment import AttachingRoute
from seamark.gatewayapi.listeners import ListenerSpec, ParentKey
from seamark.gatewayapi.parents import accepting, awaited, gateway_of, listeners_without, parent_key, served_hostnames
from seamark_runtime.api.gateway import Gateway, ListenerSet
from seamark_runtime.api.gatewayshared import ParentReference
from seamark_runtime.api.meta import Key, Object

T = TypeVar("T", bound=Object)


class Get(Protocol):
    """Reads an object of a kind, as a view does."""

    def __call__(self, kind: type[T], key: Key, /) -> T | None: ...


@dataclass(frozen=True)
class RouteParent:
    """A Gateway or ListenerSet: its listeners, and the targets of its gateway."""

    listeners: tuple[ListenerSpec, ...]
    targets: tuple[str, ...]


Find = Callable[[ParentKey], RouteParent | None]


def parent_of(get: Get, key: ParentKey) -> RouteParent | None:
    """A `target` of the gateway itself replaces its addresses, as for its own names."""
    parent = get(Gateway, key.key) if key.kind == "Gateway" else get(ListenerSet, key.key)
    name = gateway_of(parent) if parent is not None else None
    gateway = get(Gateway, name) if name is not None else None
    if parent is None or gateway is None:
        return None
    targets = tuple(listed(annotation(gateway, "target"))) or gateway_addresses(gateway)
    return RouteParent(listeners_without(parent, "Accepted"), targets)


def gateway_addresses(gateway: Gateway) -> tuple[str, ...]:
    addresses = (gateway.status.addresses if gateway.status is not None else None) or ()
    return tuple(address.value for address in addresses if address.value)


def route_names(route: NamedRoute) -> tuple[str, ...]:
    return route.spec.hostnames or ()


def route_targets(route: NamedRoute, find: Find) -> tuple[str, ...]:
    """All of them, for names that are not of its spec."""
    return tuple(dict.fromkeys(target for _, parent in _parents(route, find) for target in parent.targets))


def served_names(route: NamedRoute, find: Find) -> dict[str, tuple[str, ...]]:
    """Name of the spec, as its listeners narrow it → targets."""
    found: dict[str, dict[str, None]] = {}
    # The parent has accepted it: whether a selector lets its namespace in need not be read again.
    attaching = AttachingRoute(route.RESOURCE.kind, route.key, route_names(route), namespace_labels=None)
    if not attaching.hostnames:
        return {}
    for reference, parent in _parents(route, find):
        for name in served_hostnames(attaching, reference, parent.listeners):
            found.setdefault(name, {}).update(dict.fromkeys(parent.targets))
    return {name: tuple(targets) for name, targets in found.items()}


def _parents(route: NamedRoute, find: Find) -> Iterator[tuple[ParentReference, RouteParent]]:
    if awaited(route):
        return
    for entry in accepting(route):
        key = parent_key(entry.parent_ref, route.metadata.namespace)
        parent = find(key) if key is not None else None
        if parent is not None:
            yield entry.parent_ref, parent
