"""What is known of the backends of one Service, and the calls that probe them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seamark.families.gateway.model.routes import Backend, BackendHealth
from seamark_runtime.api.meta import Key
from seamark_runtime.callrates import Rate
from seamark_runtime.calls import Call, Results

PROBES = Rate("probes of backends", 60.0)
EVERY, DEADLINE = 5.0, 4.0  # seconds
MOST_PROBED = 3  # endpoints of a backend: one that accepts connections is enough

Endpoint = tuple[str, int]


@dataclass(frozen=True)
class Connect:
    """The action of a call: is a connection to this endpoint accepted?"""

    host: str
    port: int


def probe(endpoint: Endpoint) -> Call[None]:
    host, port = endpoint
    target = f"backend {f'[{host}]' if ':' in host else host}:{port}"
    return Call(
        target, Connect(host, port), every=EVERY, shelf_life=3 * EVERY, timeout=DEADLINE, slowest=EVERY, rate=PROBES
    )


@dataclass(frozen=True)
class Seen:
    """The used backends of a Service with their ready endpoints, and the results of probing them."""

    service: Key
    endpoints: Mapping[Backend, tuple[Endpoint, ...]]
    results: Results
    last: Mapping[Backend, BackendHealth] = field(default_factory=dict)  # as it was known before
    silence: str = "False"  # the condition status for an endpoint that does not answer
    forbidden: Mapping[Backend, tuple[str, ...]] = field(default_factory=dict)  # addresses that are not connected to
