"""A port of a Workload's service, by its name or its number as a Score file has it."""

from __future__ import annotations

from collections.abc import Sequence

from seamark.api.score import ServicePort, Workload
from seamark_runtime.untrusted.numbers import InvalidNumber, integer

SERVICE_NAME = "k8s.score.dev/service-name"


class NoSuchPort(ValueError):
    """The text names no port of the service. The message fits after the name of a field."""


def ports_of(workload: Workload) -> Sequence[ServicePort]:
    return workload.spec.service.ports if workload.spec.service is not None else ()


def service_name(workload: Workload) -> str:
    """Of its Service: what the user asks for; else its own name, behind a letter where it begins with a digit."""
    name = workload.metadata.name
    return workload.annotation(SERVICE_NAME) or (f"w-{name}" if name[:1].isdigit() else name)


def find_port(ports: Sequence[ServicePort], wanted: str, owner: str) -> ServicePort:
    """The port with this name, else that with this number. `owner` is whose service it is, for the message."""
    if not ports:
        raise NoSuchPort(f"{owner} offers no port: it has no service.ports")
    found = [port for port in ports if port.name and port.name == wanted] or _with_number(ports, wanted)
    if not found:
        known = ", ".join(_shown(port) for port in ports)
        shown = wanted if len(wanted) <= 63 else wanted[:63] + "..."
        raise NoSuchPort(f"{owner} has no port {shown!r}: a name or a number of {known}")
    return found[0]


def _with_number(ports: Sequence[ServicePort], wanted: str) -> list[ServicePort]:
    try:
        number = integer(wanted, 1, 65535)
    except InvalidNumber:
        return []
    return sorted((port for port in ports if port.port == number), key=lambda port: port.protocol)


def _shown(port: ServicePort) -> str:
    return f"{port.name} ({port.port})" if port.name else str(port.port)
