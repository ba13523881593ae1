"""Whether a text is a URI at which something can be reached (RFC 3986), and if not, why.

- The text is never changed. Any scheme is allowed except those that a browser runs or opens locally.
- An endpoint has a host, by the rules of the one URL parser (`seamark_edge.urls`). A password in a URI is refused: an
  endpoint is public.
"""

from __future__ import annotations

import ipaddress

from seamark_edge.urls import BadUrl, check_host
from seamark_runtime.untrusted.numbers import InvalidNumber, integer
from seamark_runtime.untrusted.patterns import Pattern

LONGEST = 2048
LOCAL = frozenset(("javascript", "vbscript", "data", "blob", "file", "about", "view-source"))  # no network is involved
NO_HOST = "it names no host: write scheme://host, with a port and a path where it has them"
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
    authority, path, scheme = match["authority"], match["path"], match["scheme"].lower()
    if scheme in LOCAL:
        return f"{scheme} is no scheme of an endpoint"
    if not authority:
        return NO_HOST
    if path and not path.startswith("/"):
        return "its path does not begin with a slash"
    return _authority_fault(authority)


def _authority_fault(authority: str) -> str:
    match = AUTHORITY.fullmatch(authority)
    if match is None:
        return f"{authority.rpartition('@')[2]!r} is no host with a port"
    host, port, user = match["host"], match["port"], match["user"]
    if user is not None and ":" in user:
        return "it has a password, and an endpoint is shown to everybody"
    if not host:
        return NO_HOST
    if wrong := _host_fault(host):
        return wrong
    if port and not _is_port(port):
        return f"{port} is no port"
    return ""


def _host_fault(host: str) -> str:
    if host.startswith("["):
        return "" if _is_ipv6(host[1:-1]) else f"{host} is no IPv6 address"
    name = host.lower().removesuffix(".")
    try:
        check_host(name)
    except BadUrl as error:
        return str(error)
    if name.startswith("*"):
        return f"{host!r} is a pattern of hosts, not a host"
    if name.rpartition(".")[2].isdigit() and not _is_ipv4(name):
        return f"{host!r} is no IPv4 address"
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


def _is_ipv4(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == 4
    except ValueError:
        return False
