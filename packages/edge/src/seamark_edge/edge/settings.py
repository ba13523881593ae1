"""Settings of an edge: where it keeps its state, what it binds, and the limits of callers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from seamark_edge.store.address import Address, is_database
from seamark_runtime.errors import UserError

PREFIX = "SEAMARK_EDGE_"  # of the environment's variables
NO_URL = "store is no URL of a database"
Port = Annotated[int, Meta(ge=0, le=65535)]


class EdgeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything an edge needs to start. It binds the ports named here and nothing else; 0 leaves a listener out."""

    state: Annotated[str, Meta(description="File of the state; the CA and first secrets lie beside it")] = (
        "edge-state/edge.db"
    )
    store: Annotated[
        str,
        Meta(
            description="URL of a PostgreSQL database for the state, as in postgresql://user@host:5432/edge; the file "
            "of the state if empty"
        ),
    ] = ""
    store_password_file: Annotated[
        str, Meta(description="File with the password of that database; PGPASSWORD or the file of PGPASSFILE if empty")
    ] = ""
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
    region: Annotated[str, Meta(description="The name that agents receive")] = "local"
    requests_per_minute: Annotated[int, Meta(description="API requests of one key", ge=1)] = 1200
    unknown_requests_per_minute: Annotated[
        int, Meta(description="API requests of one source without a valid key", ge=1)
    ] = 300
    connections_per_source: Annotated[
        int,
        Meta(
            description="Connections of one source (an IPv4 address, an IPv6 /64) to the public and ingress ports", ge=1
        ),
    ] = 1024
    connections: Annotated[int, Meta(description="Connections to the public ports, and to the ingress port", ge=1)] = (
        32768
    )
    agent_connections_per_source: Annotated[
        int, Meta(description="Connections of one source to the agents' port", ge=1)
    ] = 512
    agent_connections: Annotated[int, Meta(description="Connections to the agents' port", ge=1)] = 8192
    api_connections_per_source: Annotated[
        int, Meta(description="Connections of one source to the API, and to the ops port", ge=1)
    ] = 64
    api_connections: Annotated[int, Meta(description="Connections to the API, and to the ops port", ge=1)] = 512
    unproven_connections: Annotated[
        int,
        Meta(
            description="Connections to each kind of port that started and have not finished TLS, nor shown their "
            "authtoken or API key; then the oldest is closed",
            ge=1,
        ),
    ] = 384
    sessions_per_token: Annotated[
        int, Meta(description="Sessions of one authtoken that has no max_sessions of its own", ge=1)
    ] = 512
    endpoints_per_token: Annotated[
        int, Meta(description="Endpoints of one authtoken that has no max_endpoints of its own", ge=1)
    ] = 10000
    kept_per_token: Annotated[
        int,
        Meta(
            description="Names and addresses that are kept for an authtoken without max_endpoints after its agents "
            "left; more if it had more endpoints online at once",
            ge=0,
        ),
    ] = 32
    agent_requests_per_minute: Annotated[
        int, Meta(description="Requests of the agents of one authtoken: binds, unbinds", ge=1)
    ] = 12000
    head_seconds: Annotated[
        float,
        Meta(
            description="For the first request of a client, an agent or an API caller, and for its TLS handshake", gt=0
        ),
    ] = 10.0
    request_seconds: Annotated[
        float, Meta(description="For an API request: its body, its work, and the caller's reading of the answer", gt=0)
    ] = 30.0
    idle_seconds: Annotated[float, Meta(description="An API connection is kept open without a request", gt=0)] = 60.0
    half_closed_seconds: Annotated[
        float,
        Meta(description="A client that sends nothing more (half-closed, or gone) is served without traffic", gt=0),
    ] = 300.0
    lease_seconds: Annotated[float, Meta(description="An address is kept for an agent that went away", ge=0)] = 600.0
    drain_seconds: Annotated[float, Meta(description="Open connections may end by themselves on a stop", ge=0)] = 30.0
    abandon_seconds: Annotated[float, Meta(description="Until a stream is dropped whose client vanished", gt=0)] = 60.0
    log_level: Annotated[
        str, Meta(description="debug, info, warning or error", pattern="^(debug|info|warning|error)$")
    ] = "info"

    @property
    def database(self) -> Address | None:
        """The database of the state; None for the file."""
        if not self.store:
            return None
        if not is_database(self.store):
            raise UserError(NO_URL, hint="write postgresql://user@host:port/database, or name a file with --state")
        return Address(self.store, self.store_password_file)

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

    def is_own_name(self, host: str) -> bool:
        """Whether the edge keeps this host for itself: CNAME targets, and the wildcard of its own domain.

        Hosts below the domain are assigned to all callers: its wildcard would receive connections of all of them.
        """
        suffix, wildcard = self.cname_suffix.lower(), f"*.{self.domain}".lower()
        return host in (suffix, wildcard) or host.endswith(f".{suffix}")
