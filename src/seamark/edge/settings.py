"""What an edge is told: where it keeps its state, what it binds, and how much one caller may take."""

from __future__ import annotations

from pathlib import Path

import msgspec


class EdgeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything an edge needs to start. It binds the ports named here and nothing else; None leaves a listener out."""

    state: Path
    bind: str = "127.0.0.1"
    public_host: str = "127.0.0.1"  # the host in tcp:// URLs
    domain: str = "edge.localhost"  # hosts below it are handed out; names outside it are to be reserved first
    agent_port: int = 4443
    api_port: int = 4040
    ops_port: int | None = None  # metrics and health
    http_port: int | None = None
    tls_port: int | None = None  # https:// and tls:// endpoints
    ingress_port: int | None = None  # bindings
    tcp_ports: tuple[int, int] = (20000, 20999)
    api_tls: bool = False
    agent_cert: Path | None = None  # the edge's own CA issues one if none is given
    agent_key: Path | None = None
    region: str = "local"

    requests_per_minute: int = 1200  # of one API key
    connections_per_source: int = 1024
    head_seconds: float = 10.0  # for a client to say where it wants to go, for an agent to authenticate
    lease_seconds: float = 600.0  # an address is kept for an agent that went away
    drain_seconds: float = 30.0
    abandon_seconds: float = 60.0  # a stream whose client vanished is dropped after this

    @property
    def ingress_endpoint(self) -> str:
        return f"{self.public_host}:{self.ingress_port}" if self.ingress_port else ""

    @property
    def cname_suffix(self) -> str:
        return f"cname.{self.domain}"
