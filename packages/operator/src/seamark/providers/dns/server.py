"""Answers questions about a memory provider's zones on a real port, so that `dig` and resolvers can be used with it.

- Authoritative, over UDP and TCP: records, aliases within a zone, wildcards, and both kinds of nothing (RFC 2308).
- It takes no updates and hands out no zones; for those there are name servers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

from seamark.providers.dns.authority import Authority
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import Content, Record, zone_of
from seamark.providers.dns.querying import NameServers
from seamark.providers.dns.rdata import absolute, name_of, rdataset
from seamark_runtime.dnsserver import DnsServer
from seamark_runtime.errors import Retry, UserError
from seamark_runtime.untrusted.dnsnames import within

DEFAULT_TTL = 300
MOST_ALIASES = 8


class MemoryServer(DnsServer):
    """Serves a memory provider's zones until closed."""

    def __init__(self, provider: MemoryProvider) -> None:
        super().__init__(self._fill_in)
        self._provider = provider

    def _fill_in(self, question: dns.rrset.RRset, response: dns.message.Message) -> None:
        name, zone = name_of(question.name), zone_of(name_of(question.name), self._provider.zones)
        if zone is None or question.rdtype in (dns.rdatatype.AXFR, dns.rdatatype.IXFR):
            response.set_rcode(dns.rcode.REFUSED)
            return
        response.flags |= dns.flags.AA
        content = self._provider.content(zone)
        type_ = dns.rdatatype.to_text(question.rdtype)
        if type_ == "SOA" and name == zone:
            response.answer.append(soa(content))
            return
        self._follow(content, name, type_, response)

    def _follow(self, content: Content, name: str, type_: str, response: dns.message.Message) -> None:
        for _ in range(MOST_ALIASES):
            found = standing(content, name)
            if found is None:
                response.set_rcode(dns.rcode.NXDOMAIN)
                break
            wanted = [record for record in found if type_ in (record.type, "ANY")]
            response.answer += [rrset(name, record) for record in wanted]
            alias = next((record for record in found if record.type == "CNAME"), None)
            if wanted or alias is None:
                break
            response.answer.append(rrset(name, alias))
            name = alias.targets[0]
            if not within(name, content.zone):
                return  # other names are not ours to answer
        if not response.answer or response.rcode() != dns.rcode.NOERROR:
            response.authority.append(soa(content))


class ServedMemory(MemoryProvider):
    """Zones in this process that are answered on a real port from the first time that they are read.

    A port that can't be opened is an error of the zones: it is reported on their records, and retried.
    """

    def __init__(self, zones: Sequence[str], host: str, port: int) -> None:
        super().__init__(zones)
        self._place = (host, port)
        self.querier = NameServers(Authority(named=(self._place,)))
        self._server: MemoryServer | None = None
        self._starting = asyncio.Lock()

    async def read(self, zone: str) -> Content:
        async with self._starting:
            if self._server is None:
                server = MemoryServer(self)
                try:
                    await server.start(*self._place)
                except UserError as error:
                    raise Retry(error.message) from None
                self._server = server
        return await super().read(zone)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None


def standing(content: Content, name: str) -> tuple[Record, ...] | None:
    """What is at a name, or at the wildcard for it; empty where there is only something below it; None for nothing."""
    if name in content.names:
        return content.names[name]
    if name == content.zone or any(other.endswith(f".{name}") for other in content.names):
        return ()
    parent = name
    while parent != content.zone and "." in parent:
        parent = parent.partition(".")[2]
        if (star := f"*.{parent}") in content.names:
            return content.names[star]
        if parent in content.names:
            return None  # a name that is there ends the search for a wildcard (RFC 4592)
    return None


def rrset(name: str, record: Record) -> dns.rrset.RRset:
    found = rdataset(record, record.ttl or DEFAULT_TTL)
    return dns.rrset.from_rdata_list(absolute(name), found.ttl, list(found))


def soa(content: Content) -> dns.rrset.RRset:
    text = f"ns.{content.zone}. admin.{content.zone}. {content.serial} 3600 600 86400 60"
    return dns.rrset.from_text(absolute(content.zone), 60, "IN", "SOA", text)
