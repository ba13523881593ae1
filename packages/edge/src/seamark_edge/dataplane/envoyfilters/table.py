"""All filters that settings of routes switch on, in the order in which requests meet them.

- Every chain has each of them, disabled. A route's own configuration enables it, for that route's requests alone.
- A module of this package has the shape of a filter: its `NAME`, its `idle` configuration in the chain, and `on_route`.
"""

from __future__ import annotations

from typing import Any, Protocol

from seamark_edge.dataplane.envoyfilters import buffer, csrf, fault
from seamark_edge.dataplane.filters import Buffer, Csrf, Fault, RouteFilter


class FilterModule(Protocol):
    NAME: str

    @staticmethod
    def idle() -> Any: ...

    @staticmethod
    def on_route(setting: Any, /) -> Any: ...


BEFORE: dict[type[RouteFilter], Any] = {Fault: fault}  # before CORS and rate limits
AFTER: dict[type[RouteFilter], Any] = {Csrf: csrf, Buffer: buffer}  # after them
MODULES: dict[type[RouteFilter], FilterModule] = {**BEFORE, **AFTER}
