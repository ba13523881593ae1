"""Endpoint URLs: read, checked, and brought into the one form that they are compared in."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from seamark_edge.edge.errors import Refusal, invalid
from seamark_runtime.untrusted.patterns import Pattern

SCHEMES = ("tcp", "tls", "http", "https")
DEFAULT_PORTS = {"http": 80, "https": 443, "tls": 443}
SHARED_PORT = ("tls", "https")  # schemes whose endpoints share one public port and differ by server name
NAMED = ("http", *SHARED_PORT)  # schemes whose public endpoints are selected by a host name
LONGEST = 2048
BINDINGS = ("public", "internal", "kubernetes")

_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = Pattern(rf"(\*\.)?{_LABEL}(\.{_LABEL})*")
_SERVICE = Pattern(r"[a-z][a-z0-9-]{0,62}\.[a-z][a-z0-9-]{0,62}")


@dataclass(frozen=True, slots=True)
class EndpointUrl:
    """Where an endpoint is reached. `key` is equal for two URLs that are the same place."""

    scheme: str
    host: str
    port: int

    @property
    def key(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"

    @property
    def hostport(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        if self.port == DEFAULT_PORTS.get(self.scheme):
            return f"{self.scheme}://{self.host}"
        return f"{self.scheme}://{self.hostport}"

    @property
    def by_name(self) -> bool:
        """Whether clients select it by a host name, and not by a port of its own."""
        return self.scheme in NAMED

    @property
    def internal(self) -> bool:
        return self.host.endswith(".internal")


def parse_url(text: str) -> EndpointUrl:
    """An endpoint URL, or a refusal that names the error."""
    if len(text) > LONGEST:
        raise invalid(f"an endpoint URL of {len(text)} characters: at most {LONGEST} are taken")
    if not text.isprintable():  # urlsplit drops line ends and tabs
        raise invalid(f"{text[:200]!a} is no endpoint URL: it has control characters")
    try:
        parts = urlsplit(text if "://" in text else f"https://{text}")
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError as error:
        raise invalid(f"{text[:200]!r} is no endpoint URL: {error}") from error
    if parts.scheme not in SCHEMES:
        raise Refusal(9437, f"{parts.scheme[:50]!r} is no scheme of an endpoint: {', '.join(SCHEMES)} are")
    if parts.username or parts.password or parts.query or parts.fragment or parts.path not in ("", "/"):
        raise invalid(f"{text[:200]!r} is no endpoint URL: it has more than a scheme, a host and a port")
    if port is None:
        port = DEFAULT_PORTS.get(parts.scheme)
    if not port:
        raise invalid(f"{text[:200]!r} needs a port from 1 to 65535")
    check_host(host)
    return EndpointUrl(parts.scheme, host, port)


def wildcard_above(host: str) -> str:
    """The wildcard that receives connections for this host while it has no endpoint; "" for a wildcard."""
    return "" if host.startswith("*.") else f"*.{host.partition('.')[2]}"


def check_host(host: str) -> str:
    if len(host) > 253 or not (_HOST.fullmatch(host) or _is_address(host)):
        raise invalid(f"{host[:260]!r} is no host name")
    return host


def binding_of(url: EndpointUrl, bindings: tuple[str, ...] | list[str] | None) -> str:
    """Which of the three kinds of place this is; the URL and the binding must agree."""
    named = [binding for binding in bindings or () if binding]
    if len(named) > 1:
        raise invalid("an endpoint has one binding")
    binding = named[0] if named else ("internal" if url.internal else "public")
    if binding not in BINDINGS:
        raise invalid(f"{binding[:50]!r} is no binding: {', '.join(BINDINGS)} are")
    if (binding == "internal") != url.internal:
        raise invalid(f"hosts that end in .internal have the internal binding, others have not: {url}")
    if binding == "kubernetes" and not _SERVICE.fullmatch(url.host):
        raise invalid(f"the host of a kubernetes binding is service.namespace: {url.host!r} is not")
    return binding


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
