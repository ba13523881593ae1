"""What an endpoint's URL means in a cluster: a Service, a namespace, a port. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from uuid import NAMESPACE_URL, uuid5

from seamark_edge.api.bindings import BoundEndpointSpec
from seamark_edge.urls import BadUrl, place
from seamark_runtime.untrusted.patterns import Pattern

MOST_REMEMBERED = 20_000  # names and URLs, each asked for in every look at the list
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
    try:
        found = place(url)
    except BadUrl as error:
        raise BadTarget(str(error)) from None
    service, dot, namespace = found.host.partition(".")
    if not dot or not LABEL.fullmatch(service) or not LABEL.fullmatch(namespace):
        raise BadTarget(f"{url[:200]!r} is no service.namespace")
    return Target(found.scheme, service, namespace, found.port)


def target_of(spec: BoundEndpointSpec) -> Target:
    return Target(spec.scheme, spec.target.service, spec.target.namespace, spec.target.port)
