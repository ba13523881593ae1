"""Settings of an agent: the edge, its identity there, and the endpoints that it holds."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from seamark_runtime.errors import UserError
from seamark_runtime.untrusted.numbers import InvalidNumber, integer
from seamark_runtime.upstreams import Destination


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Which edge, and who we are there."""

    server: str
    token: str = field(repr=False)
    ca: str = ""
    metadata: str = ""
    heartbeat: float = 10.0
    tolerance: float = 15.0
    resolver: str = ""  # the name server that knows the services' names; empty for the system's

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.server.rpartition(":")
        try:
            number = integer(port if host else "", 1, 65535)
        except InvalidNumber:
            raise UserError(f"{self.server!r} is no address of an edge", hint="write HOST:PORT") from None
        return host.strip("[]"), number

    def context(self) -> ssl.SSLContext:
        if self.ca and not Path(self.ca).exists():
            raise UserError(f"the CA file {self.ca} does not exist")
        return ssl.create_default_context(cafile=self.ca or None)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, in PEM."""

    certificate: bytes
    key: bytes = field(repr=False)
    source: str = field(default="", compare=False)  # what it was read from, for errors


@dataclass(frozen=True, slots=True)
class Termination:
    """TLS that ends at the agent. With `client_cas` clients show a certificate of one of them, or may show one."""

    server: Pair
    client_cas: bytes = b""
    required: bool = True
    cas_source: str = field(default="", compare=False)  # what they were read from, for errors


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an endpoint can't be held, for one generation of its object. `name` is that of its tunnel."""

    name: str
    url: str
    generation: int
    message: str


@dataclass(frozen=True, slots=True)
class Tunnel:
    """An endpoint to hold. An empty host or port in the URL leaves the choice to the edge.

    - `name` is the same for every replica that holds it, and `generation` is the version of its object: the edge's
      API shows both, so that the operator knows what is held, and what was refused.
    """

    url: str
    upstream: str
    pooling: bool = False
    metadata: str = ""
    description: str = ""
    bindings: tuple[str, ...] = ()
    policy: str = ""
    proxy_version: int = 0
    protocol: str = ""  # of the service: http1 or http2, where it matters
    client_certificates: tuple[Pair, ...] = ()  # shown to the service
    termination: Termination | None = None
    name: str = ""
    generation: int = 0
    restricted: bool = False  # a tenant of a cluster named the service: not every address will do
    destination: Destination | None = None  # what that tenant's name for the service means
    anywhere: bool = False  # the installation lets tenants name services of any namespace


class Holder(Protocol):
    """A holder of tunnels at an edge: what is wanted is set by name, and opened and kept open by the holder."""

    async def hold(self, name: str, wanted: Tunnel) -> object:
        """Want this tunnel under this name, in place of what was wanted before. `UserError` if it can't be."""

    async def release(self, name: str) -> None: ...

    def report(self, name: str, problem: Problem | None) -> None:
        """Why the tunnel of this name can't be held as it is wanted; None: nothing is wrong with it any more."""
