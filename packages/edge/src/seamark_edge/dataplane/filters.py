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


RouteFilter = Csrf | Buffer | Fault | Rbac | BasicAuth | ApiKeys
