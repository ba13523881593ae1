"""Who is behind a backend: the ready endpoints of its Service, of every address family."""

from __future__ import annotations

from seamark.families.gateway.shapes import Backend
from seamark_runtime.api.discovery import EndpointSlice
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.view import View

BY_SERVICE = Index(
    EndpointSlice, lambda one: (Key(one.metadata.namespace, one.service),) if one.service else (), "slices by service"
)


def endpoints(view: View, backend: Backend) -> tuple[tuple[str, int], ...]:
    found: dict[tuple[str, int], None] = {}
    for one in view.by(BY_SERVICE, backend.service):
        if one.address_type == "FQDN":
            continue
        port = next((p.port for p in one.ports or () if (p.name or "") == backend.port_name and p.port), None)
        if port is None:
            continue
        for endpoint in one.endpoints or ():
            if endpoint.ready and endpoint.addresses:
                found[(endpoint.addresses[0], port)] = None
    return tuple(sorted(found))
