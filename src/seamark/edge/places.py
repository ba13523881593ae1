"""Which places are whose: reserved addresses and domains, leases of handed-out ones, the TCP ports that listen."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import random
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from seamark.core.clock import timestamp
from seamark.edge.errors import Refusal
from seamark.edge.registry import Registry
from seamark.edge.settings import EdgeSettings
from seamark.edge.store import Record, Store
from seamark.edge.urls import EndpointUrl, parse_url

ADDRESS, DOMAIN, LEASE = "reserved_addr", "reserved_domain", "lease"


class Places:
    """Hands out addresses and hosts, and remembers them for agents that reconnect.

    - A place that was handed out stays its agent's for a while after the agent left, also over a restart of the edge.
    - The bind token is the agent's proof: signed here, it names the place and the credential.
    - Reserved addresses are never handed out to somebody who did not ask for them.
    """

    def __init__(self, settings: EdgeSettings, store: Store, registry: Registry) -> None:
        self._settings = settings
        self._store = store
        self._registry = registry
        secret = store.secret("bind-tokens")
        if secret is None:
            secret = secrets.token_bytes(32)
            store.keep_secret("bind-tokens", secret)
        self._secret = secret
        restarted = time.time() + settings.lease_seconds
        self._meetings: dict[tuple[str, str, str], str] = {}
        for record in store.all(LEASE):
            if record.body.get("name"):
                self.meet(record.body["name"], parse_url(record.id), record.body["credential"])
        self._until = {record.id: record.body.get("until") or restarted for record in store.all(LEASE)}

    def token(self, url: EndpointUrl, credential: str) -> str:
        body = msgspec.json.encode([url.key, credential])
        mark = hmac.new(self._secret, body, hashlib.sha256).digest()
        return base64.urlsafe_b64encode(mark + body).decode()

    def url_of(self, token: str, credential: str) -> str:
        """The place that this token was given for; "" if it is not one of ours for this credential."""
        try:
            raw = base64.urlsafe_b64decode(token.encode())
            if not hmac.compare_digest(raw[:32], hmac.new(self._secret, raw[32:], hashlib.sha256).digest()):
                return ""
            key, owner = msgspec.json.decode(raw[32:], type=tuple[str, str])
        except (ValueError, msgspec.DecodeError):
            return ""
        return key if owner == credential else ""

    def meet(self, name: str, url: EndpointUrl, credential: str) -> None:
        self._meetings[credential, url.scheme, name] = url.key

    def meeting(self, name: str, scheme: str, credential: str) -> str:
        """Where replicas of one name share a place that was chosen for the first of them; "" if there is none yet."""
        key = self._meetings.get((credential, scheme, name), "") if name else ""
        free = self._registry.find(key) is None and self._until.get(key, 0) <= time.time()
        return "" if free else key

    def check(self, url: EndpointUrl, credential: str) -> None:
        """Refuse a public place that this edge does not have, or that is kept for somebody else."""
        if url.scheme == "tcp":
            host, ports = self._settings.public_host, self._settings.tcp_range
            if url.host != host or url.port not in ports:
                raise Refusal(9445, f"{url} is no address of this edge: tcp://{host}:{ports[0]}-{ports[-1]} are")
        elif not self._in_domain(url.host) and not self._store.named(DOMAIN, url.host):
            raise Refusal(
                320, f"{url.host} is not reserved: reserve it, or take a host below {self._settings.domain}", status=403
            )
        lease = self._store.get(LEASE, url.key)
        kept = lease is not None and self._until.get(url.key, 0) > time.time() and not self._registry.find(url.key)
        if lease and kept and lease.body.get("credential") != credential:
            raise Refusal(334, f"{url} is kept for an agent that may come back", status=409)

    def pick_host(self, scheme: str, port: int) -> EndpointUrl:
        name = f"{secrets.token_hex(6)}.{self._settings.domain}"
        return EndpointUrl(scheme, name, port)

    def pick_ports(self, most: int = 100) -> list[EndpointUrl]:
        """So many free addresses in random order: the first that can be bound is taken.

        Where most of the range is free, a few tries find them; only a crowded range is looked through as a whole.
        """
        now, ports = time.time(), self._settings.tcp_range
        tried = {port: self._free(port, now) for port in random.choices(ports, k=min(4 * most + 16, len(ports)))}
        found = [url for url in tried.values() if url is not None]
        if len(found) < most and len(tried) < len(ports):
            found = [url for port in ports if (url := self._free(port, now)) is not None]
            random.shuffle(found)
        return found[:most]

    def _free(self, port: int, now: float) -> EndpointUrl | None:
        url = EndpointUrl("tcp", self._settings.public_host, port)
        taken = self._registry.find(url.key) or self._store.named(ADDRESS, url.hostport)
        return None if taken or self._until.get(url.key, 0) > now else url

    async def lease(self, url: EndpointUrl, credential: str, name: str = "") -> None:
        self._until[url.key] = float("inf")
        body = {"credential": credential, "name": name}
        await self._store.put(Record(LEASE, url.key, body, timestamp(datetime.now(UTC))))

    async def unlease(self, url: EndpointUrl) -> None:
        """The agent left: its place is kept for it a while longer."""
        record = self._store.get(LEASE, url.key)
        if record is not None:
            until = self._until[url.key] = time.time() + self._settings.lease_seconds
            await self._store.put(record.changed(until=until))

    async def sweep(self) -> None:
        now = time.time()
        for record in self._store.all(LEASE):
            if self._until.get(record.id, 0) <= now:
                self._until.pop(record.id, None)
                self._meetings = {key: place for key, place in self._meetings.items() if place != record.id}
                await self._store.remove(record)

    def public_port(self, scheme: str) -> int:
        """The one port that endpoints of this scheme are reached at."""
        port = self._settings.http_port if scheme == "http" else self._settings.tls_port
        if not port:
            raise Refusal(9437, f"this edge has no listener for {scheme}:// endpoints")
        return port

    def _in_domain(self, host: str) -> bool:
        return host == self._settings.domain or host.endswith("." + self._settings.domain)


class TcpPorts:
    """The public TCP ports that listen right now.

    - A port listens exactly while an endpoint is online there.
    - `open` is done when connections are accepted; a port that somebody else holds raises OSError.
    """

    def __init__(self, host: str, factory: Callable[[int], asyncio.Protocol]) -> None:
        self._host = host
        self._factory = factory
        self._servers: dict[int, asyncio.Future[asyncio.Server]] = {}

    async def open(self, port: int) -> None:
        if port not in self._servers:
            loop = asyncio.get_running_loop()
            server = loop.create_server(lambda: self._factory(port), self._host, port, backlog=4096)
            self._servers[port] = asyncio.ensure_future(server)
        future = self._servers[port]
        try:
            await asyncio.shield(future)
        except OSError:
            self._servers.pop(port, None)
            raise

    def close(self, port: int) -> None:
        """Stop listening; connections that are open go on."""
        future = self._servers.pop(port, None)
        if future is not None:
            future.add_done_callback(lambda done: None if done.exception() else done.result().close())

    def close_all(self) -> None:
        for port in list(self._servers):
            self.close(port)
