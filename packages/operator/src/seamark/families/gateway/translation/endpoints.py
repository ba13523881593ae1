"""The ready endpoints of a backend's Service, of every address family."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address

from seamark.families.gateway.model.routes import Backend
from seamark_runtime.api.discovery import EndpointSlice
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.reach import forbidden, parsed
from seamark_runtime.view import View

BY_SERVICE = Index(
    EndpointSlice,
    lambda slice_: (Key(slice_.metadata.namespace, slice_.service),) if slice_.service else (),
    "slices by service",
)


Endpoint = tuple[str, int]


@dataclass(frozen=True)
class Endpoints:
    """The ready endpoints of a backend, and the addresses among them to which no connection is made.

    Every tenant may write an EndpointSlice, with any address in it: it may be that of the cloud's metadata service.
    """

    usable: tuple[Endpoint, ...] = ()
    forbidden: tuple[str, ...] = ()


def endpoints(view: View, backend: Backend) -> Endpoints:
    found = sorted(dict.fromkeys(_ready(view, backend)))
    usable = tuple(endpoint for endpoint in found if may_be_connected_to(endpoint[0]) and is_taken(*endpoint))
    return Endpoints(usable, tuple(dict.fromkeys(address for address, _ in found if not may_be_connected_to(address))))


def may_be_connected_to(address: str) -> bool:
    """Whether a text is an address, in any spelling, to which a tenant may lead us."""
    return parsed(address) is not None and not forbidden(address)


def _ready(view: View, backend: Backend) -> Iterator[Endpoint]:
    for slice_ in view.by(BY_SERVICE, backend.service):
        if slice_.address_type == "FQDN":
            continue
        numbers = (port.port for port in slice_.ports or () if (port.name or "") == backend.port_name and port.port)
        port = next(numbers, None)
        if port is None:
            continue
        for endpoint in slice_.endpoints or ():
            if endpoint.ready and endpoint.addresses:
                yield endpoint.addresses[0], port


def is_taken(address: str, port: int) -> bool:
    """Whether the data plane takes it: the API server takes addresses with leading zeros, too, as in 010.0.0.1."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return 0 < port < 65536 and getattr(parsed, "scope_id", None) is None
