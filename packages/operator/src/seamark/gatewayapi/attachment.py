"""Whether a route attaches to a parent: through which listeners, under which host names, or why not. Pure.

The order of the checks is that of the Gateway API: the listeners that the reference names, those of them that are
accepted, those that allow the route's kind and namespace, those that share a host name with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from seamark.gatewayapi.hostnames import common_hostnames
from seamark.gatewayapi.listeners import ListenerId, ListenerSpec
from seamark.gatewayapi.namespaces import selects
from seamark_runtime.api.gateway import ParentReference
from seamark_runtime.api.meta import Key

Attached = Mapping[ListenerId, tuple[str, ...]]  # listener → the host names under which it serves the route


class NotAttached(Enum):
    """Why no listener of a parent takes a route."""

    NO_SUCH_LISTENER = "no listener has the name and port of the reference"
    NOT_ACCEPTED = "the listeners that it names are not accepted"
    NOT_ALLOWED = "no listener allows routes of this kind from this namespace"
    NO_COMMON_HOSTNAME = "no listener shares a host name with the route"


@dataclass(frozen=True)
class AttachingRoute:
    """What of a route decides about its attachment."""

    kind: str
    key: Key
    hostnames: tuple[str, ...] = ()  # none: every name
    # Of its namespace, where a selector is used. None: not read, and a selector is taken to select the namespace; for
    # routes whose parent has accepted them already.
    namespace_labels: Mapping[str, str] | None = field(default_factory=dict)


def attach(route: AttachingRoute, parent: ParentReference, listeners: Iterable[ListenerSpec]) -> Attached | NotAttached:
    """`listeners` are those of the very parent that the reference names."""
    named = [
        listener
        for listener in listeners
        if parent.section_name in (None, listener.id.name) and parent.port in (None, listener.port)
    ]
    if not named:
        return NotAttached.NO_SUCH_LISTENER
    accepted = [listener for listener in named if listener.accepted]
    if not accepted:
        return NotAttached.NOT_ACCEPTED
    allowing = [listener for listener in accepted if allows(listener, route)]
    if not allowing:
        return NotAttached.NOT_ALLOWED
    matching = {
        listener.id: names for listener in allowing if (names := common_hostnames(listener.hostname, route.hostnames))
    }
    return matching or NotAttached.NO_COMMON_HOSTNAME


def allows(listener: ListenerSpec, route: AttachingRoute) -> bool:
    """Whether it takes routes of this kind from this namespace."""
    if route.kind not in listener.kinds:
        return False
    if listener.allowed_from == "Selector":
        return route.namespace_labels is None or selects(listener.selector, route.namespace_labels)
    same = listener.allowed_from == "Same" and route.key.namespace == listener.id.key.namespace
    return listener.allowed_from == "All" or same
