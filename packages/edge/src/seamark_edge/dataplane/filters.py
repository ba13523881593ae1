"""What filters do to the requests of an entry, in no data plane's own words: one type for each filter.

Of each type an entry has at most one value; without one, that filter does nothing to its requests.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TextRule:
    """What a text must be: `kind` is exact, prefix, suffix, contains or regex."""

    kind: str
    value: str
    ignore_case: bool = False


@dataclass(frozen=True, slots=True)
class Csrf:
    """Requests that change something must come from the host itself, or from one of these origins."""

    enforced: int  # percent of requests
    shadowed: int  # percent of requests that are evaluated and counted only
    origins: tuple[TextRule, ...] = ()


@dataclass(frozen=True, slots=True)
class Buffer:
    """A request is passed on when it is complete; one of more bytes is refused."""

    size: int


@dataclass(frozen=True, slots=True)
class Fault:
    """Percentages are of requests. `delay` is in seconds, `rate` in kbit/s."""

    delay: float | None = None
    delayed: int = 100
    http_status: int | None = None
    grpc_status: int | None = None
    aborted: int = 100
    rate: int | None = None
    limited: int = 100
    most_active: int | None = None


@dataclass(frozen=True, slots=True)
class Rbac:
    """Requests of which a condition is true are let in, or with `allow` False kept out; all others are the opposite."""

    allow: bool
    conditions: tuple[str, ...]  # each as `conditions.condition` takes it


@dataclass(frozen=True, slots=True)
class BasicAuth:
    """Users by name, each with the SHA-1 of a password in Base64."""

    users: tuple[tuple[str, str], ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class ApiKeys:
    """Clients by name, each with its key, which is looked for in these places in order."""

    clients: tuple[tuple[str, str], ...] = field(repr=False)
    sources: tuple[tuple[str, str], ...]  # header, query or cookie, and its name
    forward: bool = False  # the backend gets the key, too
    client_header: str = ""  # in which the backend gets the name of the client


@dataclass(frozen=True, slots=True)
class Acl:
    """Ranges of addresses in CIDR notation, and whether they are let in; `allow` is for all others."""

    allow: bool
    ranges: tuple[tuple[str, bool], ...] = ()

    def merged(self, other: Acl) -> Acl:
        """With the ranges of another, which comes after it: of the same range the own action holds."""
        return Acl(self.allow, tuple(sorted((dict(other.ranges) | dict(self.ranges)).items())))


@dataclass(frozen=True, slots=True)
class Compression:
    """By which of gzip, brotli and zstd responses are compressed, and requests decompressed."""

    responses: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()


# ---- filters that use a service: of each service there is a filter of its own


@dataclass(frozen=True, slots=True)
class Remote:
    """A cluster that requests go to; `timeout` is in seconds."""

    cluster: str
    authority: str = ""
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Body:
    """How many bytes of a request's body are sent along, whether it may be cut, and whether it is no text."""

    most: int
    partial: bool = False
    raw: bool = False


@dataclass(frozen=True, slots=True)
class AuthService:
    """A server that decides on requests; `prefix` is not None for one that is reached with plain HTTP."""

    name: str
    remote: Remote
    prefix: str | None = None
    headers: tuple[str, ...] = ()  # those that it gets; none named: its protocol's own
    fail_open: bool = False
    clear_route_cache: bool = False
    body: Body | None = None
    error_status: int = 403


@dataclass(frozen=True, slots=True)
class ExtAuth:
    service: AuthService
    context: tuple[tuple[str, str], ...] = ()
    body: Body | None = None


@dataclass(frozen=True, slots=True)
class RemoteKeys:
    """Keys that are fetched, and how long they are good, in seconds."""

    url: str
    remote: Remote
    lifetime: float


@dataclass(frozen=True, slots=True)
class TokenProvider:
    """Whose tokens are valid, and where they are in a request. `keys` is a JSON Web Key Set."""

    name: str
    keys: str | RemoteKeys
    issuer: str = ""
    audiences: tuple[str, ...] = ()
    header: tuple[str, str] | None = None  # its name, and what is before the token
    parameter: str = ""
    claims: tuple[tuple[str, str], ...] = ()  # claim, and the header that the backend gets it in
    forward: bool = False


@dataclass(frozen=True, slots=True)
class TokenService:
    """A valid token of one of these is needed; with `optional` a request without any is let in, too."""

    name: str
    providers: tuple[TokenProvider, ...]
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Jwt:
    service: TokenService


@dataclass(frozen=True, slots=True)
class LimitService:
    """A server that counts requests, within its domain."""

    name: str
    remote: Remote
    domain: str
    fail_open: bool = True


@dataclass(frozen=True, slots=True)
class DescriptorEntry:
    """`kind`: Generic (key and value), Header (key: its name), RemoteAddress or Path."""

    kind: str
    key: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class GlobalLimit:
    service: LimitService
    descriptors: tuple[tuple[DescriptorEntry, ...], ...]


@dataclass(frozen=True, slots=True)
class Processing:
    """Which parts a server gets. Headers and trailers: DEFAULT, SEND or SKIP; bodies: NONE, or how they are sent."""

    request_headers: str = "SEND"
    response_headers: str = "SEND"
    request_body: str = "NONE"
    response_body: str = "NONE"
    request_trailers: str = "SKIP"
    response_trailers: str = "SKIP"


@dataclass(frozen=True, slots=True)
class ProcessingService:
    """A server that sees requests and responses, and changes them."""

    name: str
    remote: Remote
    processing: Processing = Processing()
    fail_open: bool = True
    message_timeout: float | None = None


@dataclass(frozen=True, slots=True)
class ExtProc:
    service: ProcessingService
    processing: Processing | None = None


Service = AuthService | TokenService | LimitService | ProcessingService
ServiceFilter = ExtAuth | Jwt | GlobalLimit | ExtProc
RouteFilter = Csrf | Buffer | Fault | Rbac | Acl | BasicAuth | ApiKeys | Compression | ServiceFilter
