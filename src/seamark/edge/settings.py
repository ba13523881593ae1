"""What an edge is told: where it keeps its state, what it binds, and how much one caller may take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from seamark.core.errors import UserError

PREFIX = "SEAMARK_EDGE_"  # of the environment's variables
Port = Annotated[int, Meta(ge=0, le=65535)]


class EdgeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything an edge needs to start. It binds the ports named here and nothing else; 0 leaves a listener out."""

    state: Annotated[str, Meta(description="File of the state; the CA and first secrets lie beside it")] = (
        "edge-state/edge.db"
    )
    bind: Annotated[str, Meta(description="Address that all listeners bind")] = "127.0.0.1"
    public_host: Annotated[str, Meta(description="Host in tcp:// URLs and in the agents' certificate")] = "127.0.0.1"
    domain: Annotated[str, Meta(description="Hosts below it are handed out; others are reserved first")] = (
        "edge.localhost"
    )
    agent_port: Annotated[int, Meta(description="Where agents connect", ge=1, le=65535)] = 4443
    api_port: Annotated[int, Meta(description="Where the REST API is served", ge=1, le=65535)] = 4040
    api_tls: Annotated[bool, Meta(description="Serve the REST API with TLS, by the edge's CA")] = False
    ops_port: Annotated[Port, Meta(description="Where /metrics, /healthz and /readyz are served; 0 for nowhere")] = 0
    http_port: Annotated[Port, Meta(description="Public port of http:// endpoints; 0 for none")] = 0
    tls_port: Annotated[Port, Meta(description="Public port of https:// and tls:// endpoints; 0 for none")] = 0
    ingress_port: Annotated[Port, Meta(description="Where forwarders of clusters connect; 0 for nowhere")] = 0
    tcp_ports: Annotated[str, Meta(description="Range of public ports of tcp:// endpoints")] = "20000-20999"
    agent_cert: Annotated[str, Meta(description="Certificate file for agents; the edge's CA issues one if empty")] = ""
    agent_key: Annotated[str, Meta(description="Key file of that certificate")] = ""
    given: Annotated[
        str,
        Meta(description="Directory with ca.crt, ca.key, agent-token and api-key to use; what it lacks is made here"),
    ] = ""
    region: Annotated[str, Meta(description="The name that agents are told")] = "local"
    requests_per_minute: Annotated[int, Meta(description="API requests of one key", ge=1)] = 1200
    connections_per_source: Annotated[int, Meta(description="Client connections of one address", ge=1)] = 1024
    head_seconds: Annotated[float, Meta(description="For a client or agent to say who it is", gt=0)] = 10.0
    lease_seconds: Annotated[float, Meta(description="An address is kept for an agent that went away", ge=0)] = 600.0
    drain_seconds: Annotated[float, Meta(description="Open connections may end by themselves on a stop", ge=0)] = 30.0
    abandon_seconds: Annotated[float, Meta(description="Until a stream is dropped whose client vanished", gt=0)] = 60.0
    log_level: Annotated[
        str, Meta(description="debug, info, warning or error", pattern="^(debug|info|warning|error)$")
    ] = "info"

    @property
    def file(self) -> Path:
        """The state's file; a directory stands for the file `edge.db` in it."""
        path = Path(self.state)
        return path / "edge.db" if path.is_dir() or self.state.endswith("/") else path

    @property
    def directory(self) -> Path:
        return self.file.parent

    @property
    def tcp_range(self) -> range:
        low, dash, high = self.tcp_ports.partition("-")
        if not (low.isdecimal() and (high if dash else low).isdecimal()):
            raise UserError(f"tcp_ports is {self.tcp_ports!r}", hint="write a range like 20000-20999")
        return range(int(low), int(high if dash else low) + 1)

    @property
    def ingress_endpoint(self) -> str:
        return f"{self.public_host}:{self.ingress_port}" if self.ingress_port else ""

    @property
    def cname_suffix(self) -> str:
        return f"cname.{self.domain}"
