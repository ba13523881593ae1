"""URLs of endpoints and upstreams, as people write them: read, checked, and brought into a form to compare.

The only parser of both: operator, agents and edge read the same places from the same texts.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from seamark_runtime.untrusted.patterns import Pattern

SCHEMES = ("tcp", "tls", "http", "https")
PORTS = {"http": 80, "https": 443, "tls": 443}
UPSTREAM_PORTS = {**PORTS, "tcp": 0}
LONGEST, LONGEST_HOST, LONGEST_PORT = 2048, 253, 5

_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = Pattern(rf"(\*\.)?{_LABEL}(\.{_LABEL})*")


class BadUrl(ValueError):
    """What is wrong with a URL, a message for the author."""


class UnknownScheme(BadUrl):
    """The URL has a scheme that no endpoint has."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an endpoint is reached. Host and port may be left to the edge: then they are "" and 0."""

    scheme: str
    host: str
    port: int

    @property
    def fixed(self) -> bool:
        return bool(self.host)

    @property
    def internal(self) -> bool:
        return self.host.endswith(".internal")

    @property
    def hostport(self) -> str:
        return _hostport(self.host, self.port)

    @property
    def key(self) -> str:
        """Equal for two URLs that lead to one place: an edge has one public port for each scheme with hosts."""
        return f"tcp://{self.hostport}" if self.scheme == "tcp" or self.internal else f"{self.scheme}://{self.host}"

    @property
    def named(self) -> bool:
        """It is reached by a host name that has to be reserved."""
        return self.scheme != "tcp" and self.fixed and not self.internal

    @property
    def numeric(self) -> bool:
        """Its host is an address and no name."""
        return _is_address(self.host)

    @property
    def owned(self) -> str:
        """What one namespace has: a host name in all schemes, or one port of an address. "" if the edge chooses."""
        return (self.host if self.named else self.key) if self.fixed else ""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.hostport}" if self.fixed else f"{self.scheme}://"


@dataclass(frozen=True, slots=True)
class UpstreamUrl:
    """The service that connections are brought to."""

    scheme: str
    host: str
    port: int

    @property
    def encrypted(self) -> bool:
        return self.scheme in ("tls", "https")

    def __str__(self) -> str:
        return f"{self.scheme}://{_hostport(self.host, self.port)}"


def place(text: str) -> Place:
    """The place that a URL names; raises BadUrl."""
    parts, host, port = _split(text, "https")
    shown = repr(text[:200])
    if parts.scheme not in SCHEMES:
        raise UnknownScheme(f"{parts.scheme[:50]!r} is no scheme of an endpoint: {', '.join(SCHEMES)} are")
    if parts.query or parts.fragment or parts.path not in ("", "/"):
        raise BadUrl(f"{shown} has more than a scheme, a host and a port")
    if port == 0:
        raise BadUrl(f"{shown} has the port 0: it needs a port from 1 to 65535")
    if not host:
        if port:
            raise BadUrl(f"{shown} has a port and no host")
        return Place(parts.scheme, "", 0)
    check_host(host)
    number = port or PORTS.get(parts.scheme, 0)
    if not number:
        raise BadUrl(f"{shown} needs a port from 1 to 65535")
    return Place(parts.scheme, host, number)


def check_host(host: str) -> str:
    """A host name, a wildcard or an address, in lower case; raises BadUrl."""
    if len(host) > LONGEST_HOST or not (_HOST.fullmatch(host) or _is_address(host)):
        raise BadUrl(f"{host[:260]!r} is no host name")
    return host


def readable(text: str) -> Place | None:
    """The place that a URL names; None if it can't be read."""
    try:
        return place(text)
    except BadUrl:
        return None


def upstream(text: str) -> UpstreamUrl:
    """`tcp://host:port`, `http://host`, `tls://…`, `https://…`, `host:port`, or a port of this machine."""
    if text.isascii() and text.isdigit() and len(text) <= LONGEST_PORT:
        text = f"tcp://localhost:{text}"
    parts, host, port = _split(text, "tcp")
    if parts.scheme not in UPSTREAM_PORTS:
        shown = f"{parts.scheme[:50]!r} is no scheme of an upstream"
        raise UnknownScheme(f"{shown}: {', '.join(UPSTREAM_PORTS)} are")
    number = port if port is not None else UPSTREAM_PORTS[parts.scheme]
    if not host or not number:
        raise BadUrl(f"{text[:200]!r} needs a host and a port")
    return UpstreamUrl(parts.scheme, host, number)


def key_of(text: str) -> str:
    """The place of what an edge has at this URL; the URL itself where it can't be read."""
    found = readable(text)
    return text if found is None else found.key


def _split(text: str, scheme: str) -> tuple[SplitResult, str, int | None]:
    """The parts of a URL, its host in lower case and without a trailing dot, and its port; `scheme` is the default."""
    shown = repr(text[:200])
    if len(text) > LONGEST:
        raise BadUrl(f"{shown} has {len(text)} characters; at most {LONGEST} are allowed")
    if not text.isprintable() or " " in text:  # urlsplit drops line ends and tabs
        raise BadUrl(f"{text[:200]!a} has spaces or control characters, which no URL has")
    try:
        parts = urlsplit(text if "://" in text else f"{scheme}://{text}")
        host = (parts.hostname or "").rstrip(".")
    except ValueError as error:
        raise BadUrl(f"{shown} is no URL: {error}") from None
    try:
        port = parts.port
    except ValueError:
        raise BadUrl(f"{shown} needs a port from 1 to 65535") from None
    if parts.username is not None or parts.password is not None:
        raise BadUrl("the URL has credentials in it, which can't be used here")
    return parts, host, port


def _hostport(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
