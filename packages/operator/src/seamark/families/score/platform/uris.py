"""Whether a text is a URI at which something can be reached (RFC 3986), and if not, why.

- Any scheme will do, and the text is never changed.
- Schemes of the network need a host. A password in a URI is refused: an endpoint is public.
"""

from __future__ import annotations

import ipaddress

from seamark_runtime.untrusted.numbers import InvalidNumber, integer
from seamark_runtime.untrusted.patterns import Pattern

LONGEST = 2048
NETWORK = frozenset(("http", "https", "ws", "wss", "grpc", "grpcs", "tcp", "udp", "tls", "ftp", "amqp", "amqps"))
CHARACTER = r"(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})"
URI = Pattern(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):"
    r"(?://(?P<authority>[^/?#]*))?"
    rf"(?P<path>(?:{CHARACTER}|/)*)"
    rf"(?:\?(?P<query>(?:{CHARACTER}|[/?])*))?"
    rf"(?:\#(?P<fragment>(?:{CHARACTER}|[/?])*))?"
)
AUTHORITY = Pattern(
    r"(?:(?P<user>(?:[A-Za-z0-9\-._~!$&'()*+,;=:]|%[0-9A-Fa-f]{2})*)@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)"
    r"(?::(?P<port>\d*))?"
)


def fault(uri: str) -> str:
    """What is wrong with it, in words; empty when nothing is."""
    if len(uri) > LONGEST:
        return f"it has {len(uri)} characters, more than {LONGEST}"
    match = URI.fullmatch(uri)
    if match is None:
        return "it has no scheme" if ":" not in uri else "it has a character or an escape that no URI may have"
    authority, path = match["authority"], match["path"]
    if authority is None:
        if match["scheme"].lower() in NETWORK:
            return "it names no host"
        return "" if path else "it names nothing"
    if path and not path.startswith("/"):
        return "its path does not begin with a slash"
    return _authority_fault(authority, match["scheme"].lower())


def _authority_fault(authority: str, scheme: str) -> str:
    match = AUTHORITY.fullmatch(authority)
    if match is None:
        return f"{authority.rpartition('@')[2]!r} is no host with a port"
    host, port, user = match["host"], match["port"], match["user"]
    if user is not None and ":" in user:
        return "it has a password, and an endpoint is shown to everybody"
    if not host and (scheme in NETWORK or port):
        return "it names no host"
    if host.startswith("[") and not _is_ipv6(host[1:-1]):
        return f"{host} is no IPv6 address"
    if port and not _is_port(port):
        return f"{port} is no port"
    return ""


def _is_port(text: str) -> bool:
    try:
        return integer(text, 1, 65535) > 0
    except InvalidNumber:
        return False


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == 6
    except ValueError:
        return False
