"""The endpoints of a Service → the calls that probe them, and the health of each backend. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from seamark.families.gateway.backends.state import MOST_PROBED, Endpoint, Seen, probe
from seamark.families.gateway.model.routes import Backend, BackendHealth
from seamark_edge.dataplane.protocol import ConnectionRefused, NotProbed
from seamark_runtime import reach
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Failed
from seamark_runtime.conditions import FALSE, TRUE, UNKNOWN
from seamark_runtime.controller import Wanted
from seamark_runtime.source import Fresh, NotYet


def desire(seen: Seen) -> Wanted:
    targets = {endpoint: None for endpoints in seen.endpoints.values() for endpoint in probed(endpoints)}
    return Wanted(calls=tuple(map(probe, targets)))


def probed(endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
    return endpoints[:MOST_PROBED]


def report(seen: Seen, _answers: Answers) -> Mapping[Backend, BackendHealth]:
    return known(seen)


def known(seen: Seen) -> dict[Backend, BackendHealth]:
    """While a first probe of new endpoints is under way, what was known before stays."""
    found = {backend: health(seen, backend) or seen.last.get(backend) for backend in seen.endpoints}
    return {backend: value for backend, value in found.items() if value is not None}


def health(seen: Seen, backend: Backend) -> BackendHealth | None:
    """None: not known yet."""
    endpoints = probed(seen.endpoints[backend])
    if not endpoints:
        return nothing_to_connect_to(seen, backend)
    outcomes = [seen.results.to(probe(endpoint)) for endpoint in endpoints]
    if any(isinstance(outcome, Fresh) for outcome in outcomes):
        return BackendHealth(TRUE, "BackendsReady", left_out(seen, backend))
    if any(isinstance(outcome, NotYet) for outcome in outcomes):
        return None
    return unreached(seen, backend, endpoints, [outcome for outcome in outcomes if isinstance(outcome, Failed)])


def unreached(seen: Seen, backend: Backend, endpoints: tuple[Endpoint, ...], failed: list[Failed]) -> BackendHealth:
    """None of these endpoints is known to accept connections: `failed` are those that did not."""
    where = f"Service {backend.service}"
    if not failed:
        return BackendHealth(UNKNOWN, "NotVerified", f"The endpoints of {where} are not verified any more")
    if any(isinstance(outcome.error, NotProbed) for outcome in failed):
        return BackendHealth(UNKNOWN, "NoDataPlane", "The data plane is in memory: nothing connects to backends")
    target = f"at port {endpoints[0][1]}, the target of port {backend.port}"
    if all(isinstance(outcome.error, ConnectionRefused) for outcome in failed):
        return BackendHealth(FALSE, "EndpointsRefuse", f"{where}: its endpoints refuse connections {target}")
    return BackendHealth(seen.silence, "EndpointsSilent", f"{where}: its endpoints do not answer {target}")


def nothing_to_connect_to(seen: Seen, backend: Backend) -> BackendHealth:
    if message := left_out(seen, backend):
        return BackendHealth(FALSE, "AddressNotAllowed", message)
    message = f"Service {backend.service} has no ready endpoint for port {backend.port}"
    return BackendHealth(FALSE, "NoReadyEndpoint", message)


def left_out(seen: Seen, backend: Backend) -> str:
    """About the first endpoint that is not connected to; empty if there is none."""
    for address in seen.forbidden.get(backend, ()):
        why = reach.forbidden(address) or "no address"
        return f"Service {backend.service}: no connection is made to its endpoint {address[:100]}, {why}"
    return ""
