"""Endpoint URLs: read, checked, and brought into the one form that they are compared in."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from seamark.edge.errors import Refusal, invalid

SCHEMES = ("tcp", "tls", "http", "https")
DEFAULT_PORTS = {"http": 80, "https": 443, "tls": 443}
BINDINGS = ("public", "internal", "kubernetes")

_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"(\*\.)?{_LABEL}(\.{_LABEL})*")
_SERVICE = re.compile(r"[a-z][a-z0-9-]{0,62}\.[a-z][a-z0-9-]{0,62}")


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
    def internal(self) -> bool:
        return self.host.endswith(".internal")


def parse_url(text: str) -> EndpointUrl:
    """An endpoint URL, or a refusal that says what is wrong with it."""
    try:
        parts = urlsplit(text if "://" in text else f"https://{text}")
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError as error:
        raise invalid(f"{text[:200]!r} is no endpoint URL: {error}") from error
    if parts.scheme not in SCHEMES:
        raise Refusal(9437, f"{parts.scheme!r} is no scheme of an endpoint: {', '.join(SCHEMES)} are")
    if parts.username or parts.password or parts.query or parts.fragment or parts.path not in ("", "/"):
        raise invalid(f"{text[:200]!r} is no endpoint URL: it has more than a scheme, a host and a port")
    if port is None:
        port = DEFAULT_PORTS.get(parts.scheme)
    if port is None:
        raise invalid(f"{text[:200]!r} needs a port")
    check_host(host)
    return EndpointUrl(parts.scheme, host, port)


def check_host(host: str) -> str:
    if len(host) > 253 or not (_HOST.fullmatch(host) or _is_address(host)):
        raise invalid(f"{host[:260]!r} is no host name")
    return host


def binding_of(url: EndpointUrl, bindings: tuple[str, ...] | list[str] | None) -> str:
    """Which of the three kinds of place this is; the URL and the binding must agree."""
    said = [binding for binding in bindings or () if binding]
    if len(said) > 1:
        raise invalid("an endpoint has one binding")
    binding = said[0] if said else ("internal" if url.internal else "public")
    if binding not in BINDINGS:
        raise invalid(f"{binding!r} is no binding: {', '.join(BINDINGS)} are")
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
