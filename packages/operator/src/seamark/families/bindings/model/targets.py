"""What an endpoint's URL means in a cluster: a Service, a namespace, a port. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit
from uuid import NAMESPACE_URL, uuid5

from seamark_edge.api.bindings import BoundEndpointSpec
from seamark_runtime.untrusted.patterns import Pattern

DEFAULT_PORTS = {"http": 80, "https": 443, "tls": 443}
SCHEMES = ("tcp", *DEFAULT_PORTS)
MOST_REMEMBERED = 20_000  # names and URLs, each asked for in every look at the list
LONGEST_URL = 2048
LABEL = Pattern(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")


class BadTarget(ValueError):
    """A URL that names no Service, with the error."""


@dataclass(frozen=True, order=True)
class Target:
    """Where Pods will find an endpoint. Endpoints with one target share a BoundEndpoint, whose name follows from it."""

    scheme: str
    service: str
    namespace: str
    port: int

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.service}.{self.namespace}:{self.port}"

    @property
    def name(self) -> str:
        return hashed(self.url)


@lru_cache(maxsize=MOST_REMEMBERED)
def hashed(url: str) -> str:
    return f"ngrok-{uuid5(NAMESPACE_URL, url)}"


@lru_cache(maxsize=MOST_REMEMBERED)
def parse(url: str) -> Target:
    """The target that a URL names; a missing port is the scheme's own, where it has one."""
    if len(url) > LONGEST_URL:
        raise BadTarget(f"{url[:200]!r} has {len(url)} characters; at most {LONGEST_URL} are allowed")
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        port = parts.port
    except ValueError as error:
        raise BadTarget(f"{url[:200]!r} is no URL: {error}") from error
    if parts.scheme not in SCHEMES:
        raise BadTarget(f"{url[:200]!r} has a scheme that can't be bound: {', '.join(SCHEMES)} can")
    service, dot, namespace = (parts.hostname or "").partition(".")
    if not dot or not LABEL.fullmatch(service) or not LABEL.fullmatch(namespace):
        raise BadTarget(f"{url[:200]!r} is no service.namespace")
    port = DEFAULT_PORTS.get(parts.scheme) if port is None else port
    if not port:
        raise BadTarget(f"{url[:200]!r} needs a port")
    return Target(parts.scheme, service, namespace, port)


def target_of(spec: BoundEndpointSpec) -> Target:
    return Target(spec.scheme, spec.target.service, spec.target.namespace, spec.target.port)
