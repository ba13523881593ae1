"""The ready endpoints of a backend's Service, of every address family."""

from __future__ import annotations

from seamark.families.gateway.model.routes import Backend
from seamark_runtime.api.discovery import EndpointSlice
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.view import View

BY_SERVICE = Index(
    EndpointSlice,
    lambda slice_: (Key(slice_.metadata.namespace, slice_.service),) if slice_.service else (),
    "slices by service",
)


def endpoints(view: View, backend: Backend) -> tuple[tuple[str, int], ...]:
    found: dict[tuple[str, int], None] = {}
    for slice_ in view.by(BY_SERVICE, backend.service):
        if slice_.address_type == "FQDN":
            continue
        numbers = (port.port for port in slice_.ports or () if (port.name or "") == backend.port_name and port.port)
        port = next(numbers, None)
        if port is None:
            continue
        for endpoint in slice_.endpoints or ():
            if endpoint.ready and endpoint.addresses:
                found[(endpoint.addresses[0], port)] = None
    return tuple(sorted(found))
