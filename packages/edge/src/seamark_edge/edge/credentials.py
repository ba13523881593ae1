"""Authtokens of agents and keys of API callers: made, checked, limited, revoked. Only their digests are kept."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from seamark_edge.edge.errors import Refusal, bad_token
from seamark_edge.edge.ids import digest, new_id, new_secret
from seamark_edge.edge.urls import EndpointUrl
from seamark_edge.store.record import Record
from seamark_edge.store.store import Store
from seamark_runtime.clock import timestamp
from seamark_runtime.untrusted.patterns import Pattern, quote

TOKEN, KEY = "credential", "api_key"
PREFIXES = {TOKEN: "cr", KEY: "ak"}


class Credentials:
    """Who may come in.

    - A secret is shown once, when it is made; the state holds its digest.
    - A revoked token or key is refused from the next request on.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def make(self, kind: str, body: dict[str, Any], secret: str = "") -> tuple[Record, str]:
        secret = secret or new_secret(PREFIXES[kind])
        record = Record(kind, new_id(PREFIXES[kind]), body, timestamp(datetime.now(UTC)), digest(secret))
        return await self._store.put(record), secret

    def token(self, secret: str) -> Record:
        record = self._store.named(TOKEN, digest(secret)) if secret else None
        if record is None:
            raise bad_token()
        return record

    def by_id(self, ident: str) -> Record:
        record = self._store.get(TOKEN, ident)
        if record is None:
            raise bad_token()
        return record

    def key(self, secret: str) -> Record:
        record = self._store.named(KEY, digest(secret)) if secret else None
        if record is None:
            raise Refusal(202, "the API key is not valid here, or was revoked", status=401)
        return record


def limit_of(token: Record, name: str, default: int) -> int:
    """The token's own limit, or what the edge allows every token."""
    own = token.body.get(name)
    return own if isinstance(own, int) else default


def may_bind(record: Record, url: EndpointUrl) -> None:
    """Refuse a URL outside the token's ACL. No ACL allows everything."""
    acl = [rule.removeprefix("bind:") for rule in record.body.get("acl") or ()]
    if acl and not any(_wildcard(rule).fullmatch(place) for rule in acl for place in (url.host, url.hostport)):
        raise Refusal(315, f"the ACL of this authtoken does not allow {url}", status=403)


@lru_cache(maxsize=1024)
def _wildcard(rule: str) -> Pattern:
    """A rule of an ACL: `*` stands for any characters, `?` for one."""
    parts = ("[^/]*" if char == "*" else "[^/]" if char == "?" else quote(char) for char in rule)
    return Pattern("".join(parts))


MOST_CALLERS = 10_000  # budgets that are remembered


@dataclass(slots=True)
class Budget:
    """A token bucket for each caller: `rate` requests a minute, as many at once. Idle callers are forgotten."""

    rate: int
    _callers: dict[str, tuple[float, float]] = field(default_factory=dict)  # what is left, and when; the oldest first

    def spend(self, caller: str, now: float | None = None) -> None:
        """Take one request out of the caller's budget, or refuse with the time to wait."""
        now = time.monotonic() if now is None else now
        left, at = self._callers.pop(caller, (float(self.rate), now))
        left = min(float(self.rate), left + (now - at) * self.rate / 60)
        if len(self._callers) >= MOST_CALLERS:
            del self._callers[next(iter(self._callers))]
        self._callers[caller] = (max(left - 1, 0.0) if left >= 1 else left, now)
        if left < 1:
            wait = (1 - left) * 60 / self.rate
            raise Refusal(429, f"more than {self.rate} requests a minute", status=429, after=wait)
