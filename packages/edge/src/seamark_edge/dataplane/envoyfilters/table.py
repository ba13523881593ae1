"""All filters that settings of routes switch on, in the order in which requests meet them.

- Every chain has each of them, disabled. A route's own configuration enables it, for that route's requests alone.
- A module of this package has the shape of a filter: its `NAME`, its configuration in the chain, and `on_route`. That
  in the chain is `idle`; or, of a filter that uses a service, `in_chain`: then a chain has one for each such service.
  A setting that is several filters has `all_idle` and `all_on_route`, which name each of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

from seamark_edge.dataplane.envoyfilters import (
    acl,
    apikeys,
    basicauth,
    buffer,
    compression,
    csrf,
    extauth,
    extproc,
    fault,
    globallimit,
    jwt,
    presence,
    rbac,
)
from seamark_edge.dataplane.filters import (
    Acl,
    ApiKeys,
    BasicAuth,
    Buffer,
    Compression,
    Csrf,
    ExtAuth,
    ExtProc,
    Fault,
    GlobalLimit,
    Jwt,
    Rbac,
    RouteFilter,
    Service,
    ServiceFilter,
)

Modules = dict[type[RouteFilter], Any]

BEFORE: Modules = {Fault: fault, Acl: acl, Compression: compression}  # before CORS
# before rate limits
ACCESS: Modules = {Jwt: jwt, BasicAuth: basicauth, ApiKeys: apikeys, ExtAuth: extauth, Rbac: rbac, ExtProc: extproc}
AFTER: Modules = {GlobalLimit: globallimit, Csrf: csrf, Buffer: buffer}
MODULES: Modules = {**BEFORE, **ACCESS, **AFTER}


def in_chain(modules: Modules, services: Iterable[Service]) -> Iterator[tuple[str, Any]]:
    """The names and configurations of these filters, as they are in a chain that uses these services."""
    for module in modules.values():
        if hasattr(module, "all_idle"):
            yield from module.all_idle()
            continue
        if not hasattr(module, "SERVICE"):
            yield module.NAME, module.idle()
            continue
        for service in services:
            if isinstance(service, module.SERVICE):
                yield service_filter(module.NAME, service), module.in_chain(service)


def on_route(settings: Iterable[RouteFilter]) -> dict[str, Any]:
    """By the names of their filters, a route's configuration of them."""
    made: dict[str, Any] = {}
    needed = []
    for setting in settings:
        module = MODULES[type(setting)]
        if hasattr(module, "all_on_route"):
            made.update(module.all_on_route(setting))
            continue
        name = name_of(setting)
        made[name] = module.on_route(setting)
        if isinstance(setting, ServiceFilter):
            needed.append(name)
    if needed:
        made[presence.GUARD] = presence.on_route(needed)
    return made


def name_of(setting: RouteFilter) -> str:
    name: str = MODULES[type(setting)].NAME
    return service_filter(name, setting.service) if isinstance(setting, ServiceFilter) else name


def marks(services: Iterable[Service]) -> Any:
    """What marks the requests of a chain with the services that it has; None: it has none."""
    services = tuple(services)
    names = [
        service_filter(module.NAME, service)
        for module in MODULES.values()
        for service in services
        if isinstance(service, getattr(module, "SERVICE", ()))
    ]
    return presence.marks(names) if names else None


def service_filter(name: str, service: Service) -> str:
    """Another form of a service is another filter: a policy whose last good form is in effect keeps that one's."""
    return f"{name}/{service.name}/{hashlib.sha256(repr(service).encode()).hexdigest()[:12]}"
