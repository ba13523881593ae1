"""What a data plane is to serve for one gateway, independent of the kind of data plane.

- A `Snapshot` is whole: what it does not name is not served. Resources are known by name; equal resources are the same.
- Every entry of a route names its object (`origin`), so that a refusal is reported there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from seamark_edge.dataplane.filters import RouteFilter, Service

MOST_PATTERN = 32_768  # instructions of a compiled regular expression: a data plane takes them up to that size


class Origin(NamedTuple):
    """The object that a piece of configuration came from."""

    kind: str
    namespace: str
    name: str


# ---- matching a request


@dataclass(frozen=True, slots=True)
class Text:
    """A name and what its value must be: exactly that, or matching a regular expression."""

    name: str
    value: str
    regex: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """What a request must look like: all of it."""

    path: str = "/"
    kind: str = "prefix"  # exact, prefix (of whole path elements) or regex
    method: str = ""
    headers: tuple[Text, ...] = ()
    params: tuple[Text, ...] = ()


# ---- what is done with it


@dataclass(frozen=True, slots=True)
class Headers:
    """Changes of headers: set replaces, add appends."""

    set: tuple[tuple[str, str], ...] = ()
    add: tuple[tuple[str, str], ...] = ()
    remove: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.set or self.add or self.remove)


NO_HEADERS = Headers()


@dataclass(frozen=True, slots=True)
class Target:
    """A cluster with its share of the traffic. No cluster: that share is answered with an error."""

    cluster: str
    weight: int = 1
    request: Headers = NO_HEADERS
    response: Headers = NO_HEADERS


@dataclass(frozen=True, slots=True)
class Mirror:
    """A cluster that gets copies of a part of the requests; its answers count for nothing."""

    cluster: str
    numerator: int = 1
    denominator: int = 1


@dataclass(frozen=True, slots=True)
class Retry:
    """What is tried again, how often, and how long each try may take."""

    attempts: int = 1
    codes: tuple[int, ...] = ()
    on: tuple[str, ...] = ()
    per_try: float | None = None
    backoff: float | None = None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """How the request changes on its way."""

    host: str = ""
    path: str | None = None  # the whole path
    prefix: str | None = None  # only what was matched
    regex: tuple[str, str] | None = None  # what matches in the path, and its replacement


@dataclass(frozen=True, slots=True)
class Forward:
    """It goes to these, by their shares."""

    targets: tuple[Target, ...]
    rewrite: Rewrite | None = None
    mirrors: tuple[Mirror, ...] = ()
    timeout: float | None = None  # seconds; 0 is none
    idle: float | None = None
    retry: Retry | None = None
    backend_host: bool = False  # the backend gets its own name as the host


@dataclass(frozen=True, slots=True)
class Redirect:
    """The client is redirected: what is not named stays as in the request."""

    status: int = 302
    scheme: str = ""
    host: str = ""
    port: int = 0
    path: str | None = None
    prefix: str | None = None


@dataclass(frozen=True, slots=True)
class Respond:
    """It is answered on the spot."""

    status: int
    body: str = ""


Action = Forward | Redirect | Respond


@dataclass(frozen=True, slots=True)
class Cors:
    """Which other sites may use it from a browser."""

    origins: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    expose: tuple[str, ...] = ()
    credentials: bool = False
    max_age: int = 5


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A bucket of tokens, one for each request, filled again and again. Percentages are of requests."""

    tokens: int
    fill: int
    interval: float
    enabled: int = 100
    enforced: int = 100


@dataclass(frozen=True, slots=True)
class Extras:
    """What policies and filters add to an entry, when all levels are put together."""

    cors: Cors | None = None
    rate: RateLimit | None = None
    request: Headers = NO_HEADERS
    response: Headers = NO_HEADERS
    filters: tuple[RouteFilter, ...] = ()

    def __bool__(self) -> bool:
        return self != NO_EXTRAS


NO_EXTRAS = Extras()


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a virtual host. The first that matches decides."""

    match: Match
    action: Action
    origin: Origin
    name: str = ""
    request: Headers = NO_HEADERS
    response: Headers = NO_HEADERS
    extras: Extras = NO_EXTRAS


@dataclass(frozen=True, slots=True)
class VirtualHost:
    """What is done with requests for these names; an entry that comes first goes first."""

    domains: tuple[str, ...]
    entries: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class RouteTable:
    """All virtual hosts behind a listener, or a chain of it."""

    name: str
    hosts: tuple[VirtualHost, ...]


# ---- listeners


@dataclass(frozen=True, slots=True)
class Validation:
    """Whose client certificates are taken. `required` False lets anybody in."""

    authorities: bytes
    required: bool = True


@dataclass(frozen=True, slots=True)
class ServerTls:
    """How TLS is ended: with which certificates, and whose clients."""

    certificates: tuple[str, ...]  # names of secrets
    validation: Validation | None = None
    http: bool = True
    versions: tuple[str, str] = ("", "")  # the oldest and the newest of TLS, as in 1.2; empty for Envoy's default


@dataclass(frozen=True, slots=True)
class Chain:
    """What is done with connections for these server names; none named: with all others."""

    name: str
    server_names: tuple[str, ...] = ()
    tls: ServerTls | None = None
    table: str = ""  # a route table's name, for HTTP
    targets: tuple[Target, ...] = ()  # for connections that are passed on as they are
    services: tuple[Service, ...] = ()  # that filters of the table's entries use


@dataclass(frozen=True, slots=True)
class Listener:
    """A port at these addresses, with what is done to connections."""

    name: str
    addresses: tuple[str, ...]
    port: int
    chains: tuple[Chain, ...]
    inspect: bool = False  # look for the server name before a chain is chosen
    users: tuple[str, ...] = ()  # the gateway's listeners that it serves


# ---- backends


@dataclass(frozen=True, slots=True)
class ClientTls:
    """How a backend is spoken to and known: no authorities means the system's."""

    host: str
    authorities: bytes | None = None
    names: tuple[tuple[str, str], ...] = ()  # (DNS or URI, value)
    certificate: str = ""  # the name of a secret


@dataclass(frozen=True, slots=True)
class Cluster:
    """A group of endpoints that is spoken to in one way."""

    name: str
    protocol: str = "http1"  # http1, http2 or tcp
    tls: ClientTls | None = None


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Who is behind a cluster."""

    name: str
    addresses: tuple[tuple[str, int], ...] = ()
    host: str = ""  # the name of the Service


@dataclass(frozen=True, slots=True)
class Secret:
    """A certificate with its key."""

    name: str
    chain: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True)
class Snapshot:
    """Everything that one gateway serves. `uid` is that Gateway's."""

    listeners: Mapping[str, Listener] = field(default_factory=dict)
    tables: Mapping[str, RouteTable] = field(default_factory=dict)
    clusters: Mapping[str, Cluster] = field(default_factory=dict)
    endpoints: Mapping[str, Endpoints] = field(default_factory=dict)
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    uid: str = ""
