"""Which Gateway an Envoy serves, as its client certificate says it.

- A certificate names exactly one Gateway in a URI: its namespace, name and uid. Its holder gets the configuration and
  the keys of that Gateway and of no other, whatever its node id claims.
- The uid keeps a certificate of a deleted Gateway from being used for a new one of the same name.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from seamark_runtime.api.meta import Key
from seamark_runtime.reach import forbidden

PREFIX = "seamark://gateway/"
URI_NAMES = "peer_uri"  # gRPC's name for the URIs of the peer's certificate, which its TLS has verified


class Identity(NamedTuple):
    """One Gateway."""

    gateway: Key
    uid: str

    @property
    def uri(self) -> str:
        return f"{PREFIX}{self.gateway.namespace}/{self.gateway.name}/{self.uid}"


def of_certificate(authentication: Mapping[str, Iterable[bytes]]) -> Identity | None:
    """The Gateway that a verified certificate names; None where it names none, or anything else besides."""
    uris = list(authentication.get(URI_NAMES, ()))
    if len(uris) != 1:
        return None
    text = uris[0].decode("ascii", "replace")
    parts = text.removeprefix(PREFIX).split("/")
    if not text.startswith(PREFIX) or len(parts) != 3 or not all(parts):
        return None
    namespace, name, uid = parts
    return Identity(Key(namespace, name), uid)


def of_node(node: str) -> tuple[Key, str]:
    """What an Envoy reports in its node id, `namespace/name` or `namespace/name/address`: its Gateway and its address.

    The address is the one that we probe: where no tenant may lead us, it counts as none.
    """
    namespace, _, rest = node.partition("/")
    name, _, host = rest.partition("/")
    try:
        address = str(ipaddress.ip_address(host))
    except ValueError:
        address = ""
    return Key(namespace, name), "" if forbidden(address) else address
