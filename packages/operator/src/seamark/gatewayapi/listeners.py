"""A gateway's listeners, its own and those of its listener sets: which kinds of routes they take, which conflict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from seamark.gatewayapi.namespaces import namespace_labels, selects
from seamark_runtime.api.gateway import GROUP, Gateway, LabelSelector, Listener, ListenerSet, RouteNamespaces
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.view import View

HTTP_KINDS = ("HTTPRoute", "GRPCRoute")
ROUTE_KINDS = {"HTTP": HTTP_KINDS, "HTTPS": HTTP_KINDS, "TLS": ("TLSRoute",), "TCP": ("TCPRoute",)}  # by protocol
WITH_HOSTNAMES = ("HTTP", "HTTPS", "TLS")
FOREIGN_PORTS = "gateway.seamark.dev/foreign-ports"  # on a gateway's Service: the ports that other namespaces added
BEYOND_SHARE = "PortUnavailable"
LAYERS = {"HTTP": "HTTP", "HTTPS": "TLS", "TLS": "TLS", "TCP": "TCP"}  # protocols that can share a port


class ListenerId(NamedTuple):
    """A listener of a gateway: its own, or one of a listener set."""

    kind: str  # Gateway or ListenerSet
    key: Key
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.key}/{self.name}"


class ParentKey(NamedTuple):
    """What a route can name as its parent."""

    kind: str  # Gateway or ListenerSet
    key: Key


@dataclass(frozen=True, slots=True)
class DeclaredListener:
    """A listener with the object that declares it."""

    id: ListenerId
    listener: Listener


@dataclass(frozen=True, slots=True)
class ListenerSpec:
    """A listener as routes see it: which of them it allows, and under which host names it serves them."""

    id: ListenerId
    port: int
    protocol: str
    hostname: str
    kinds: tuple[str, ...]
    allowed_from: str  # All, Same, Selector or None
    selector: LabelSelector | None
    passthrough: bool
    accepted: bool = True  # routes attach to a listener that is accepted, even while it is not served

    @property
    def parent(self) -> ParentKey:
        return ParentKey(self.id.kind, self.id.key)


@dataclass(frozen=True, slots=True)
class GatewayListeners:
    """All listeners of a gateway, its sets' included. It changes only with what matters to routes."""

    gateway: Key
    listeners: tuple[ListenerSpec, ...]


def gateway_key(listener_set: ListenerSet) -> Key | None:
    """The gateway that a listener set names."""
    parent = listener_set.spec.parent_ref
    if (parent.group or GROUP) != GROUP or (parent.kind or "Gateway") != "Gateway":
        return None
    return Key(parent.namespace or listener_set.metadata.namespace, parent.name)


SETS_BY_GATEWAY = Index(ListenerSet, lambda listener_set: (gateway_key(listener_set),), "listener sets by gateway")


def named_sets(view: View, gateway: Gateway) -> list[ListenerSet]:
    """The listener sets that name this gateway, allowed or not."""
    return [listener_set for listener_set in view.by(SETS_BY_GATEWAY, gateway.key) if not listener_set.deleting]


def allows_set(view: View, gateway: Gateway, listener_set: ListenerSet) -> bool:
    allowed = gateway.spec.allowed_listeners
    namespaces = allowed.namespaces if allowed is not None else None
    who = allowed_from(namespaces) if namespaces is not None and namespaces.from_ else "None"
    if who == "Selector" and namespaces is not None:
        return selects(namespaces.selector, namespace_labels(view, listener_set.metadata.namespace))
    return who == "All" or (who == "Same" and listener_set.metadata.namespace == gateway.metadata.namespace)


@dataclass(frozen=True, slots=True)
class GatewayPorts:
    """The ports at which a gateway is reached: those of its own listeners come first."""

    own: tuple[int, ...] = ()
    foreign: tuple[int, ...] = ()  # that listener sets of other namespaces have added

    @property
    def all(self) -> tuple[int, ...]:
        return (*self.own, *self.foreign)


NO_PORTS = GatewayPorts()


def ports(view: View, gateway: Gateway, share: int) -> GatewayPorts:
    """Those of its listeners and of the listeners of the sets that it allows, as far as they are accepted.

    `share`: see `beyond_share`.
    """
    allowed = [listener_set for listener_set in named_sets(view, gateway) if allows_set(view, gateway, listener_set)]
    return accepted_ports(gateway, allowed, share)


def accepted_ports(gateway: Gateway, sets: Iterable[ListenerSet], share: int) -> GatewayPorts:
    declared = declared_listeners(gateway, sets)
    refused = refusals(declared, gateway, share)
    accepted = [each for each in declared if each.id not in refused and each.listener.protocol in LAYERS]
    own = {each.listener.port for each in accepted if each.id.kind == "Gateway"}
    near = {each.listener.port for each in accepted if each.id.key.namespace == gateway.metadata.namespace} - own
    foreign = {each.listener.port for each in accepted} - own - near
    if not accepted:  # a Service has at least one port
        own = {listener.port for listener in gateway.spec.listeners}
    return GatewayPorts((*sorted(own), *sorted(near)), tuple(sorted(foreign)))


def refusals(declared: Iterable[DeclaredListener], gateway: Gateway, share: int) -> dict[ListenerId, str]:
    """The listeners that others exclude, with the reason: by a conflict, or by the share of their namespace."""
    declared = tuple(declared)
    beyond = beyond_share(declared, gateway, share)
    return dict.fromkeys(beyond, BEYOND_SHARE) | conflicts(each for each in declared if each.id not in beyond)


def beyond_share(declared: Iterable[DeclaredListener], gateway: Gateway, share: int) -> frozenset[ListenerId]:
    """Those listeners of other namespaces whose ports are more than `share` (0: no limit) of one namespace: each is a
    port of the gateway's Service, and has an address there. A port that the gateway has itself does not count."""
    own = {listener.port for listener in gateway.spec.listeners}
    taken: dict[str, set[int]] = {}
    beyond = set()
    for each in declared:
        namespace, port = each.id.key.namespace, each.listener.port
        if not share or namespace == gateway.metadata.namespace or port in own or each.listener.protocol not in LAYERS:
            continue
        known = taken.setdefault(namespace, set())
        if port in known or len(known) < share:
            known.add(port)
        else:
            beyond.add(each.id)
    return frozenset(beyond)


def declared_listeners(gateway: Gateway, sets: Iterable[ListenerSet]) -> list[DeclaredListener]:
    """All listeners in the order of their precedence: the gateway's, then the oldest set's."""
    found = [
        DeclaredListener(ListenerId("Gateway", gateway.key, listener.name), listener)
        for listener in gateway.spec.listeners
    ]
    by_age = sorted(sets, key=lambda listener_set: (listener_set.metadata.creation_timestamp or "", listener_set.key))
    for listener_set in by_age:
        found += [
            DeclaredListener(ListenerId("ListenerSet", listener_set.key, listener.name), listener)
            for listener in listener_set.spec.listeners
        ]
    return found


def conflicts(declared: Iterable[DeclaredListener]) -> dict[ListenerId, str]:
    """The listeners that conflict with one that precedes them, with the reason."""
    taken: dict[int, tuple[str, set[str]]] = {}  # port → its layer, and the host names on it
    found: dict[ListenerId, str] = {}
    for declaration in declared:
        listener = declaration.listener
        layer = LAYERS.get(listener.protocol)
        if layer is None:
            continue
        known_layer, hostnames = taken.setdefault(listener.port, (layer, set()))
        hostname = served_hostname(listener)
        if known_layer != layer:
            found[declaration.id] = "ProtocolConflict"
        elif hostname in hostnames:
            found[declaration.id] = "HostnameConflict"
        else:
            hostnames.add(hostname)
    return found


def served_hostname(listener: Listener) -> str:
    """Its host name, if its protocol has any; empty for all."""
    return listener.hostname if listener.protocol in WITH_HOSTNAMES else ""


def allowed_from(namespaces: RouteNamespaces | None) -> str:
    return (namespaces.from_ if namespaces is not None else None) or "Same"


def route_kinds(listener: Listener) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The kinds of routes that it takes, and those that it names but can't take."""
    possible = ROUTE_KINDS.get(listener.protocol, ())
    named = listener.allowed_routes.kinds if listener.allowed_routes is not None else None
    if not named:
        return possible, ()
    supported = [kind.kind for kind in named if kind.group == GROUP and kind.kind in possible]
    unsupported = [kind.kind for kind in named if not (kind.group == GROUP and kind.kind in possible)]
    return tuple(dict.fromkeys(supported)), tuple(unsupported)


def listener_spec(declared: DeclaredListener, *, accepted: bool) -> ListenerSpec:
    listener = declared.listener
    supported, _ = route_kinds(listener)
    namespaces = listener.allowed_routes.namespaces if listener.allowed_routes is not None else None
    return ListenerSpec(
        id=declared.id,
        port=listener.port,
        protocol=listener.protocol,
        hostname=served_hostname(listener),
        kinds=supported,
        allowed_from=allowed_from(namespaces),
        selector=namespaces.selector if namespaces is not None else None,
        passthrough=listener.protocol == "TLS" and listener.tls is not None and listener.tls.mode == "Passthrough",
        accepted=accepted,
    )
