"""Endpoint URLs, as people write them: read, checked, and brought into the one form that they are compared in."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from seamark_runtime.untrusted.patterns import Pattern

SCHEMES = ("tcp", "tls", "http", "https")
PORTS = {"http": 80, "https": 443, "tls": 443}
UPSTREAM_PORTS = {**PORTS, "tcp": 0}
LONGEST = 2048

_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = Pattern(rf"(\*\.)?{_LABEL}(\.{_LABEL})*")


class BadUrl(ValueError):
    """What is wrong with a URL, a message for the author."""


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
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def key(self) -> str:
        """Equal for two URLs that lead to one place: an edge has one public port for each scheme with hosts."""
        return f"tcp://{self.hostport}" if self.scheme == "tcp" or self.internal else f"{self.scheme}://{self.host}"

    @property
    def named(self) -> bool:
        """It is reached by a host name that has to be reserved."""
        return self.scheme != "tcp" and self.fixed and not self.internal

    @property
    def owned(self) -> str:
        """What one namespace has: a host name in all schemes, or one port of an address. "" if the edge chooses."""
        return (self.host if self.named else self.key) if self.fixed else ""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.hostport}" if self.fixed else f"{self.scheme}://"


def place(text: str) -> Place:
    """The place that a URL names; raises BadUrl."""
    shown = repr(text[:200])
    if len(text) > LONGEST or any(ord(character) <= 32 or ord(character) == 127 for character in text):
        raise BadUrl(f"{shown} has spaces or characters that no URL has, or is too long")
    try:
        parts = urlsplit(text if "://" in text else f"https://{text}")
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError as error:
        raise BadUrl(f"{shown} is no URL: {error}") from None
    scheme = parts.scheme
    if scheme not in SCHEMES:
        raise BadUrl(f"{scheme[:50]!r} is no scheme of an endpoint: {', '.join(SCHEMES)} are")
    if parts.username is not None or parts.password is not None:
        raise BadUrl("the URL has credentials in it, which no endpoint takes")
    if parts.query or parts.fragment or parts.path not in ("", "/"):
        raise BadUrl(f"{shown} has more than a scheme, a host and a port")
    if port == 0:
        raise BadUrl(f"{shown} has the port 0")
    if not host:
        if port:
            raise BadUrl(f"{shown} has a port and no host")
        return Place(scheme, "", 0)
    if len(host) > 253 or not (_HOST.fullmatch(host) or _is_address(host)):
        raise BadUrl(f"{host[:260]!r} is no host name")
    number = port or PORTS.get(scheme, 0)
    if not number:
        raise BadUrl(f"{shown} needs a port")
    return Place(scheme, host, number)


def readable(text: str) -> Place | None:
    """The place that a URL names; None if it can't be read."""
    try:
        return place(text)
    except BadUrl:
        return None


def upstream(text: str) -> str:
    """The service that connections are brought to, as scheme://host:port; raises BadUrl."""
    shown = repr(text[:200])
    if len(text) > LONGEST:
        raise BadUrl(f"{shown} has {len(text)} characters; at most {LONGEST} are allowed")
    if text.isascii() and text.isdigit():
        text = f"tcp://localhost:{text}"
    try:
        parts = urlsplit(text if "://" in text else f"tcp://{text}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise BadUrl(f"{shown} is no address of a service: {error}") from None
    if parts.scheme not in UPSTREAM_PORTS:
        raise BadUrl(f"{shown} is no address of a service: {', '.join(UPSTREAM_PORTS)} are its schemes")
    if parts.username is not None or parts.password is not None:
        raise BadUrl("the upstream URL has credentials in it")
    number = port if port is not None else UPSTREAM_PORTS[parts.scheme]
    if not host or not number:
        raise BadUrl(f"{shown} needs a host and a port")
    return f"{parts.scheme}://{host}:{number}"


def key_of(text: str) -> str:
    """The place of what an edge has at this URL; the URL itself where it can't be read."""
    found = readable(text)
    return text if found is None else found.key


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
