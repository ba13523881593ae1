"""All filters that settings of routes switch on, in the order in which requests meet them.

- Every chain has each of them, disabled. A route's own configuration enables it, for that route's requests alone.
- A module of this package has the shape of a filter: its `NAME`, its `idle` configuration in the chain, and `on_route`.
"""

from __future__ import annotations

from typing import Any, Protocol

from seamark_edge.dataplane.envoyfilters import apikeys, basicauth, buffer, csrf, fault, rbac
from seamark_edge.dataplane.filters import ApiKeys, BasicAuth, Buffer, Csrf, Fault, Rbac, RouteFilter


class FilterModule(Protocol):
    NAME: str

    @staticmethod
    def idle() -> Any: ...

    @staticmethod
    def on_route(setting: Any, /) -> Any: ...


BEFORE: dict[type[RouteFilter], Any] = {Fault: fault}  # before CORS
ACCESS: dict[type[RouteFilter], Any] = {BasicAuth: basicauth, ApiKeys: apikeys, Rbac: rbac}  # before rate limits
AFTER: dict[type[RouteFilter], Any] = {Csrf: csrf, Buffer: buffer}
MODULES: dict[type[RouteFilter], FilterModule] = {**BEFORE, **ACCESS, **AFTER}
