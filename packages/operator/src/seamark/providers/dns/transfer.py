"""A zone as its server has it, followed by serial: the whole once, then only what changed.

- The serial is asked first; while it stands, nothing is transferred.
- What moved comes by IXFR where the server can; anything odd about that, and the whole zone is read again.
- A transfer counts when it has ended well. A failed or cut one changes nothing and is raised.
- All of it has one deadline, whatever is sent how slowly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.transaction
import dns.xfr
import dns.zone

from seamark.providers.dns.layered import Layered
from seamark.providers.dns.link import Link, Server, connected
from seamark.providers.dns.model import Content, Record
from seamark.providers.dns.rdata import IN, name_of, records
from seamark_runtime.errors import Retry

NAMES_PER_SLICE = 200  # names that are read before others get their turn


class LayeredZone(dns.zone.Zone):
    """A zone in which a small change costs little, however large it is."""

    map_factory = Layered


class Follower:
    """One zone on one server. `full` and `incremental` count transfers, for those who pay for them."""

    def __init__(self, server: Server, zone: str) -> None:
        self._server = server
        self._zone = zone
        self._origin = dns.name.from_text(zone)
        self._store: dns.zone.Zone | None = None
        self._content: Content | None = None
        self.full = 0
        self.incremental = 0

    async def read(self) -> Content:
        seconds = self._server.transfer_timeout
        try:
            async with asyncio.timeout(seconds):
                return await self._read()
        except TimeoutError:
            raise Retry(
                f"{self._server}: the transfer of {self._zone} did not end within {seconds:g} s, which is the limit "
                "(dns_transfer_timeout)"
            ) from None

    async def _read(self) -> Content:
        async with connected(self._server) as link:
            serial = await self._serial(link)
            content = self._content
            if content is not None and content.serial == serial:
                return content
            # A difference that is half understood, or cut off on its way into the store, is worth nothing.
            store, self._store = self._store, None
            if content is not None and store is not None:
                try:
                    return await self._transfer(link, store, content)
                except (dns.exception.DNSException, Retry):
                    return await self._reconnect_and_transfer()
            return await self._whole(link)

    async def _reconnect_and_transfer(self) -> Content:
        async with connected(self._server) as link:
            return await self._whole(link)

    async def _whole(self, link: Link) -> Content:
        store = LayeredZone(self._origin, relativize=False)
        try:
            return await self._transfer(link, store, None)
        except dns.xfr.TransferError as error:
            reason = dns.rcode.to_text(error.rcode)
            raise Retry(f"{self._server} refused the transfer of {self._zone} ({reason})") from None

    async def _serial(self, link: Link) -> int:
        answer = await link.query_server(dns.message.make_query(self._origin, dns.rdatatype.SOA, IN, flags=0))
        if answer.rcode() != dns.rcode.NOERROR or not answer.flags & dns.flags.AA:
            reason = dns.rcode.to_text(answer.rcode()) if answer.rcode() else "it is not authoritative"
            raise Retry(f"{self._server} does not serve {self._zone} ({reason})")
        rrset = answer.get_rrset(dns.message.ANSWER, self._origin, IN, dns.rdatatype.SOA)
        if rrset is None:
            raise Retry(f"{self._server} does not serve {self._zone} (it has no SOA there)")
        return int(rrset[0].serial)

    async def _transfer(self, link: Link, store: dns.zone.Zone, known: Content | None) -> Content:
        query, serial = dns.xfr.make_query(store, serial=None if known is None else known.serial)
        written: list[dns.transaction.Transaction] = []
        with dns.xfr.Inbound(store, query.question[0].rdtype, serial, transaction_setup=written.append) as inbound:
            await link.transfer(query, inbound)
        whole = known is None or len(written) > 1 or not inbound.incremental
        self.full += whole
        self.incremental += not whole
        changed = None if whole else written[-1].version.changed  # type: ignore[attr-defined]  # of a zone's transaction
        self._store, self._content = store, await self._built(store, changed)
        return self._content

    async def _built(self, store: dns.zone.Zone, changed: Iterable[dns.name.Name] | None) -> Content:
        """What is new of it, as records. Of a large zone others get their turn in between."""
        names: dict[str, tuple[Record, ...]] = {}
        for number, name in enumerate(store.nodes if changed is None else changed):
            node = store.nodes.get(name)
            names[name_of(name)] = records(name, node) if node is not None else ()
            if number % NAMES_PER_SLICE == NAMES_PER_SLICE - 1:
                await asyncio.sleep(0)
        serial = int(store.find_rdataset(self._origin, dns.rdatatype.SOA)[0].serial)
        if changed is not None and self._content is not None:
            return self._content.amended(serial, names)
        found = {name: records_at_name for name, records_at_name in names.items() if records_at_name}
        return Content(self._zone, serial, found) if self._content is None else self._content.replaced(serial, found)
