"""The Secrets by which the parts of one installation know each other: made once, and renewed in time.

- An authority of its own signs a certificate for each part; it lives ten years, a certificate one. What has less than
  a third of its life left is renewed. Pods that mount it use it without a restart.
- Tokens are made once and stay.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from seamark_runtime.api.core import Secret
from seamark_runtime.api.meta import Key, ObjectMeta
from seamark_runtime.client import Client
from seamark_runtime.errors import Gone
from seamark_runtime.rbac import Grant, on
from seamark_runtime.signing import CA_CRT, CA_KEY, due, fresh, issue, make_authority

MADE_BY = {"app.kubernetes.io/managed-by": "seamark-install"}


@dataclass(frozen=True)
class Wanted:
    """A Secret: a certificate for these hosts (none: no certificate), and tokens by their keys."""

    name: str
    hosts: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()


def grants(namespace: str, names: Iterable[str]) -> set[Grant]:
    """Reading and changing these by name; a right to create can't be limited to names."""
    verbs = ("get", "patch")
    named = {grant for name in names for grant in on(Secret, verbs, namespace=namespace, name=name)}
    return named | on(Secret, ("create",), namespace=namespace)


async def keep(client: Client, namespace: str, authority: str, wanted: Iterable[Wanted]) -> list[str]:
    """Ensures that the authority and these Secrets exist and are valid for a while; returns what was created."""
    now = datetime.now(UTC)
    written: list[str] = []
    ca = await _data(client, Key(namespace, authority))
    if not ca.get(CA_KEY) or not fresh(ca.get(CA_CRT, b""), now):
        ca = make_authority(now)
        written.append(await _write(client, Key(namespace, authority), ca))
    for secret in wanted:
        current = await _data(client, Key(namespace, secret.name))
        changed = {name: secrets.token_urlsafe(32).encode() for name in secret.tokens if not current.get(name)}
        if secret.hosts and due(current, ca[CA_CRT], secret.hosts, now):
            changed |= issue(ca, secret.hosts, now)
        if secret.tokens and current.get(CA_CRT) != ca[CA_CRT]:
            changed[CA_CRT] = ca[CA_CRT]
        if changed:
            written.append(await _write(client, Key(namespace, secret.name), changed))
    return written


async def _data(client: Client, key: Key) -> dict[str, bytes]:
    try:
        return dict((await client.get(Secret, key)).data or {})
    except Gone:
        return {}


async def _write(client: Client, key: Key, data: Mapping[str, bytes]) -> str:
    """Makes it, or changes these entries of it."""
    encoded = {name: base64.b64encode(value).decode() for name, value in data.items()}
    try:
        await client.merge_patch(Secret, key, {"data": encoded})
    except Gone:
        metadata = ObjectMeta(name=key.name, namespace=key.namespace, labels=MADE_BY)
        await client.create(Secret(metadata=metadata, data=dict(data)))
    return f"secret {key.name}: {', '.join(sorted(data))} made"
