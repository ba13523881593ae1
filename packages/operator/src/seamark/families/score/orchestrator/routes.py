"""What the claim of a route gave, checked and as a runtime renders it: a host, a path prefix, the number of a port."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from seamark.api.score import ServicePort
from seamark.families.score.model.serviceports import NoSuchPort, find_port
from seamark.families.score.orchestrator.resolve import Wrong
from seamark_runtime.untrusted.patterns import Pattern

LONGEST_HOST, LONGEST_PATH = 253, 1024
LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
HOST = Pattern(rf"(\*\.)?{LABEL}(\.{LABEL})*")
PREFIX = Pattern(r"/([-A-Za-z0-9/._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})*")  # as an HTTPRoute has it


def route(outputs: Mapping[str, str], ports: Sequence[ServicePort], where: str) -> dict[str, str]:
    """Its host, path and port. Raises Wrong with the parameter that a Gateway could not serve."""
    host, path = outputs["host"], outputs.get("path") or "/"
    if len(host) > LONGEST_HOST or not HOST.fullmatch(host):
        raise Wrong(f"{where}.host: {host[:80]!r} is no host name of small letters, digits, dashes and dots")
    if len(path) > LONGEST_PATH or not PREFIX.fullmatch(path):
        raise Wrong(f"{where}.path: {path[:80]!r} is no path: it begins with / and is a prefix, no pattern")
    try:
        port = find_port(ports, outputs["port"], "this Workload")
    except NoSuchPort as error:
        raise Wrong(f"{where}.port: {error}") from None
    if port.protocol != "TCP":
        raise Wrong(f"{where}.port: {outputs['port']} is a {port.protocol} port; a route leads to a TCP port")
    return {**outputs, "path": path, "port": str(port.port)}
