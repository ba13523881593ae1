"""Name servers that take dynamic updates (RFC 2136): BIND, Knot, PowerDNS and others.

- A batch is one UPDATE: all of it or nothing. Its prerequisites are what was read, so the server detects a change by
  another writer in between and nothing is overwritten.
- A refusal is about the zone when even an empty UPDATE is refused, and about a record of the batch otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import dns.message
import dns.name
import dns.rcode
import dns.update

from seamark.providers.dns.authority import Authority
from seamark.providers.dns.link import Server, connected
from seamark.providers.dns.model import (
    Change,
    Content,
    Moved,
    NoResponse,
    Part,
    Querier,
    Record,
    RecordRefused,
    Unwritable,
)
from seamark.providers.dns.querying import NameServers
from seamark.providers.dns.rdata import absolute, rdataset
from seamark.providers.dns.transfer import Follower
from seamark_runtime.fencing import ensure_leading

MOVED = (dns.rcode.YXDOMAIN, dns.rcode.YXRRSET, dns.rcode.NXDOMAIN, dns.rcode.NXRRSET)
NOT_OURS = (dns.rcode.NOTAUTH,)
BATCH = 32_000  # bytes of an UPDATE by a rough count; a message can have twice that
OVERHEAD = 64  # bytes of a record beside its name and targets
TRUST = 5.0  # seconds for which a zone that took an empty update is taken to be writable
MAX_CONNECTIONS = 4  # connections


class Rfc2136Provider:
    """Zones on a name server. The longest zone that a name is in is its zone."""

    set_identifiers = False
    adjusts = False

    def __init__(
        self, server: Server, zones: Sequence[str], *, default_ttl: int = 300, querier: Querier | None = None
    ) -> None:
        """Without an querier the server itself is asked, and no other."""
        self._server = server
        self._followers = {zone: Follower(server, zone) for zone in zones}
        self._default_ttl = default_ttl
        self.querier = querier or NameServers(Authority(named=((server.host, server.port),)))
        self._writable: dict[str, float] = {}
        self._gate = asyncio.Semaphore(MAX_CONNECTIONS)
        self._reading = {zone: asyncio.Lock() for zone in zones}
        self.updates = 0

    @property
    def zones(self) -> tuple[str, ...]:
        return tuple(self._followers)

    def follower(self, zone: str) -> Follower:
        return self._followers[zone]

    async def read(self, zone: str) -> Content:
        async with self._reading[zone]:  # two at once would tread on the same store
            return await self._followers[zone].read()

    async def apply(self, zone: str, changes: Sequence[Change]) -> None:
        message = await asyncio.to_thread(self._update, zone, changes)  # it takes a while
        async with self._gate:
            rcode = await self._send(message)
            if rcode == dns.rcode.NOERROR:
                return
            answered = f"{self._server} answered {dns.rcode.to_text(rcode)}"
            if rcode in MOVED:
                raise Moved(f"the records are not as they were read ({dns.rcode.to_text(rcode)})")
            if rcode in NOT_OURS or not await self._takes_updates(zone):
                raise Unwritable(f"{zone} takes no updates: {answered}")
            raise RecordRefused(answered, reason=dns.rcode.to_text(rcode))

    async def adjust(self, records: Sequence[Record]) -> list[Record]:
        return list(records)

    def weigh(self, change: Change) -> float:
        size = 0
        for part in change.parts:
            for record in (part.before, part.after):
                if record is not None:
                    size += sum(OVERHEAD + len(record.name) + len(target) for target in record.targets)
        return size / BATCH

    async def close(self) -> None:
        """Nothing to close: a connection is closed after its question."""

    async def _takes_updates(self, zone: str) -> bool:
        """Whether an UPDATE that changes nothing is taken; asked again after a while."""
        now = asyncio.get_running_loop().time()
        if self._writable.get(zone, float("-inf")) < now - TRUST:
            if await self._send(dns.update.UpdateMessage(dns.name.from_text(zone))) != dns.rcode.NOERROR:
                return False
            self._writable[zone] = now
        return True

    async def _send(self, message: dns.update.UpdateMessage) -> dns.rcode.Rcode:
        ensure_leading(f"the update to {self._server}")
        self.updates += 1
        try:
            async with asyncio.timeout(self._server.timeout), connected(self._server) as link:
                return (await link.query_server(message)).rcode()
        except TimeoutError:
            raise NoResponse(f"no answer from {self._server} within {self._server.timeout:g} s") from None

    def _update(self, zone: str, changes: Sequence[Change]) -> dns.update.UpdateMessage:
        message = dns.update.UpdateMessage(dns.name.from_text(zone))
        for change in changes:
            for part in change.parts:
                self._require(message, part)
        for change in changes:
            # What goes, goes first: a CNAME would not be taken beside what it replaces.
            for part in sorted(change.parts, key=lambda part: part.after is not None):
                self._replace(message, part)
        return message

    def _require(self, message: dns.update.UpdateMessage, part: Part) -> None:
        name = absolute(part.record.name)
        if part.before is None:
            message.absent(name, part.record.type)
        else:
            message.present(name, rdataset(part.before, 0))

    def _replace(self, message: dns.update.UpdateMessage, part: Part) -> None:
        name = absolute(part.record.name)
        if part.before is not None:
            message.delete(name, part.record.type)
        if part.after is not None:
            known = part.before.ttl if part.before is not None else 0
            ttl = part.after.ttl or known or self._default_ttl
            message.add(name, rdataset(part.after, ttl))
