"""Which places are whose: reserved addresses and domains, leases of handed-out ones, the TCP ports that listen."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import random
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from seamark_edge.edge.credentials import TOKEN
from seamark_edge.edge.errors import Refusal, in_use, own_name
from seamark_edge.edge.kept import KeptPlaces
from seamark_edge.edge.registry import Registry
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.edge.urls import NAMED, EndpointUrl, parse_url, wildcard_above
from seamark_edge.store.database import DatabaseAway
from seamark_edge.store.record import Record
from seamark_edge.store.store import Store
from seamark_runtime.clock import timestamp
from seamark_runtime.errors import Conflict, Exists
from seamark_runtime.untrusted.decoding import decode_json

ADDRESS, DOMAIN, LEASE = "reserved_addr", "reserved_domain", "lease"

IN_USE = float("inf")  # until when a place is kept that has an endpoint here


class Places:
    """Hands out addresses and hosts, and remembers them for agents that reconnect.

    - A public place stays the credential's that had it for a while after its agent left, also over a restart of the
      edge. How many are kept for one credential is limited (`KeptPlaces`).
    - A tcp address that is only kept is given up, the oldest first, when no other is free.
    - The bind token is the agent's proof: signed here, it names the place and the credential.
    - A host name is kept in all its schemes together, and so is a wildcard.
    - A host below the wildcard of another authtoken is refused, unless it was there before.
    - Hosts that the edge keeps for itself have no owner (`EdgeSettings.is_own_name`).
    - Reserved addresses are only assigned on request, by address.
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
                with suppress(Refusal):  # a place that an older version kept, and that is none any more
                    self.meet(record.body["name"], parse_url(record.id), record.body["credential"])
        self._until = {record.id: record.body.get("until") or restarted for record in store.all(LEASE)}
        registry.kept_for_another = self.host_kept_for_another
        self._kept = KeptPlaces(settings, store, registry.of_credential)
        leases = sorted(store.all(LEASE), key=lambda record: self._until[record.id])
        for credential, count in Counter(map(_owner, leases)).items():
            self._kept.expect(credential, count)
        for record in leases:
            self._give_up(self._kept.add(_owner(record), record.id))

    def changed_elsewhere(self, leases: list[Record]) -> None:
        """Places that another edge has handed out: kept as if their agents had just left."""
        until = time.time() + self._settings.lease_seconds
        self._until.update({lease.id: lease.body.get("until") or until for lease in leases})

    def token(self, url: EndpointUrl, credential: str) -> str:
        body = msgspec.json.encode([url.key, credential])
        mark = hmac.new(self._secret, body, hashlib.sha256).digest()
        return base64.urlsafe_b64encode(mark + body).decode()

    def url_of(self, token: str, credential: str) -> str:
        """The place that this token was given for; "" if it is not one of ours for this credential."""
        try:
            raw = base64.urlsafe_b64decode(token.encode()[:4096])
            if not hmac.compare_digest(raw[:32], hmac.new(self._secret, raw[32:], hashlib.sha256).digest()):
                return ""
            key, owner = decode_json(raw[32:], tuple[str, str])
        except ValueError:
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
        """Refuse a public place that this edge does not have, or that is kept for another owner."""
        if url.scheme == "tcp":
            host, ports = self._settings.public_host, self._settings.tcp_range
            if url.host != host or url.port not in ports:
                raise Refusal(9445, f"{url} is no address of this edge: tcp://{host}:{ports[0]}-{ports[-1]} are")
        elif self._settings.is_own_name(url.host):
            raise own_name(url.host)
        elif not self._in_domain(url.host) and not self._store.named(DOMAIN, url.host):
            raise Refusal(
                320, f"{url.host} is not reserved: reserve it, or take a host below {self._settings.domain}", status=403
            )
        if credential and not self._is_known(url.key, credential):
            self._store.require()
        if credential and self._kept_for_others_only(url, credential):
            raise Refusal(334, f"{url} is kept for an agent that may come back", status=409)
        if credential and self._below_wildcard_of_another(url, credential):
            raise Refusal(334, f"{url} is below a wildcard that is in use by another agent", status=409)

    def _is_known(self, key: str, credential: str) -> bool:
        """Whether it was reserved for this credential before, even if that has expired. Does not use the database."""
        lease = self._store.get(LEASE, key)
        return lease is not None and credential in _owners(lease)

    def _kept_for_others_only(self, url: EndpointUrl, credential: str) -> bool:
        """Whether this place, or its host in another scheme, is reserved for others, and this place not for it."""
        if not url.by_name:
            return self.kept_for_another(url.key, credential)
        return not self._is_kept_for(url.key, credential) and self.host_kept_for_another(url.host, credential)

    def host_kept_for_another(self, host: str, credential: str) -> bool:
        """Whether this host is kept for other credentials in one of its schemes, and no endpoint is online there."""
        return any(self.kept_for_another(key, credential) for key in self._keys_of(host))

    def _keys_of(self, host: str) -> Iterator[str]:
        """The places of a host: one in each scheme that this edge has a port for."""
        for scheme in NAMED:
            if port := self._settings.http_port if scheme == "http" else self._settings.tls_port:
                yield EndpointUrl(scheme, host, port).key

    def _below_wildcard_of_another(self, url: EndpointUrl, credential: str) -> bool:
        """Whether taking this host would take connections away from the wildcard of another authtoken.

        A host that is online, or kept for this credential, was there before the wildcard.
        """
        wildcard = wildcard_above(url.host)
        if not url.by_name or not wildcard:
            return False
        if self._registry.has_host(url.host) or any(
            self._is_kept_for(key, credential) for key in self._keys_of(url.host)
        ):
            return False
        return any(self._is_of_another(key, credential) for key in self._keys_of(wildcard))

    def _is_kept_for(self, key: str, credential: str) -> bool:
        lease = self._store.get(LEASE, key)
        return lease is not None and self._until.get(key, 0) > time.time() and credential in _owners(lease)

    def _is_of_another(self, key: str, credential: str) -> bool:
        """Whether other authtokens, and not this one, are online there, or it is kept for them."""
        group = self._registry.find(key)
        if group is None:
            return self.kept_for_another(key, credential)
        return credential not in group.owners and group.owners.keys() != {""}

    def kept_for_another(self, key: str, credential: str) -> bool:
        """Whether no endpoint is online there, and it is kept for other credentials that are still valid."""
        lease = self._store.get(LEASE, key)
        if lease is None or self._until.get(key, 0) <= time.time() or self._registry.find(key):
            return False
        owners = _owners(lease)
        return credential not in owners and any(owner and self._store.get(TOKEN, owner) for owner in owners)

    def pick_host(self, scheme: str, port: int) -> EndpointUrl:
        self._store.require()
        name = f"{secrets.token_hex(6)}.{self._settings.domain}"
        return EndpointUrl(scheme, name, port)

    def pick_ports(self, most: int = 100) -> list[EndpointUrl]:
        """So many free addresses in random order: the first that can be bound is taken.

        Where most of the range is free, a few tries find them; only a crowded range is looked through as a whole. If
        none is free, those that are only kept for an agent that left, the oldest first.
        """
        self._store.require()
        now, ports = time.time(), self._settings.tcp_range
        tried = {port: self._free(port, now) for port in random.choices(ports, k=min(4 * most + 16, len(ports)))}
        found = [url for url in tried.values() if url is not None]
        if len(found) < most and len(tried) < len(ports):
            found = [url for port in ports if (url := self._free(port, now)) is not None]
            random.shuffle(found)
        return found[:most] or self._only_kept(now)[:most]

    def _only_kept(self, now: float) -> list[EndpointUrl]:
        addresses = (EndpointUrl("tcp", self._settings.public_host, port) for port in self._settings.tcp_range)
        kept = {url: self._until.get(url.key, 0) for url in addresses if not self._is_taken(url)}
        return sorted((url for url, until in kept.items() if now < until < IN_USE), key=kept.__getitem__)

    def _is_taken(self, url: EndpointUrl) -> bool:
        return bool(self._registry.find(url.key) or self._store.named(ADDRESS, url.hostport))

    def _free(self, port: int, now: float) -> EndpointUrl | None:
        url = EndpointUrl("tcp", self._settings.public_host, port)
        return None if self._is_taken(url) or self._until.get(url.key, 0) > now else url

    def give_up(self, url: EndpointUrl) -> None:
        """Ends the keeping of this place."""
        record = self._store.get(LEASE, url.key)
        if record is not None:
            self._kept.discard(_owner(record), url.key)
            self._give_up([url.key])

    def _give_up(self, keys: list[str]) -> None:
        self._until.update(dict.fromkeys(keys, 0.0))  # the next sweep removes them

    async def lease(self, url: EndpointUrl, credential: str, name: str = "") -> None:
        """The place is in use. Refused where another edge has it."""
        known, before = self._is_known(url.key, credential), self._store.get(LEASE, url.key)
        if before is not None:
            self._kept.discard(_owner(before), url.key)
        self._until[url.key] = IN_USE
        self._kept.expect(credential, self._registry.of_credential(credential))
        self._give_up(self._kept.trim(credential))
        group = self._registry.find(url.key)
        sharing = sorted(group.owners.keys() - {"", credential}) if group else []
        body = {"credential": credential, "name": name, **({"sharing": sharing} if sharing else {})}
        record = Record(LEASE, url.key, body, timestamp(datetime.now(UTC)))
        try:
            await (self._store.keep(record) if known else self._store.put(record))
        except (Exists, Conflict):
            raise in_use(str(url)) from None
        finally:
            if self._store.get(LEASE, url.key) is None:
                self._until.pop(url.key, None)

    async def unlease(self, url: EndpointUrl) -> None:
        """The agent left: its place is kept for it a while longer."""
        record = self._store.get(LEASE, url.key)
        if record is not None and self._until.get(url.key) == IN_USE and self._registry.find(url.key) is None:
            until = self._until[url.key] = time.time() + self._settings.lease_seconds
            self._give_up(self._kept.add(_owner(record), url.key))
            await self._store.keep(record.changed(until=until))

    async def sweep(self) -> None:
        """Ends the keeping of places whose time is over; while the database is away, all of them stay."""
        if self._store.problem:
            return
        now = time.time()
        over = {
            record.id: record
            for record in self._store.all(LEASE)
            if self._until.get(record.id, 0) <= now and self._registry.find(record.id) is None
        }
        if not over:
            return
        self._meetings = {key: place for key, place in self._meetings.items() if place not in over}
        for ident, record in over.items():
            if self._until.get(ident, 0) <= now:  # it was not taken meanwhile
                self._until.pop(ident, None)
                self._kept.discard(_owner(record), ident)
                with suppress(DatabaseAway):  # it is looked at again when the database answers
                    await self._store.remove(record)

    def public_port(self, scheme: str) -> int:
        """The one port that endpoints of this scheme are reached at."""
        port = self._settings.http_port if scheme == "http" else self._settings.tls_port
        if not port:
            raise Refusal(9437, f"this edge has no listener for {scheme}:// endpoints")
        return port

    def _in_domain(self, host: str) -> bool:
        return host == self._settings.domain or host.endswith("." + self._settings.domain)


def _owner(lease: Record) -> str:
    """The credential that a place counts for."""
    return lease.body.get("credential") or ""


def _owners(lease: Record) -> list[str]:
    """The credentials that a place is kept for."""
    return [_owner(lease), *lease.body.get("sharing", ())]


class TcpPorts:
    """The public TCP ports that listen right now.

    - A port listens exactly while an endpoint is online there.
    - `open` is done when connections are accepted; a port in use raises OSError.
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
