"""Asks the authoritative name servers for records, as a resolver would.

- A question goes over UDP without recursion desired, and again over TCP if the answer is truncated.
- Every authoritative server is asked. A record is answered when all of them have answered, or one answers otherwise.
- One question at a time is on its way to a server, and at most 500 a second. A server that does not respond to one
  question is not asked the others: it is silent.
- A call ends after `LONGEST` seconds: what was not asked by then is asked again later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import dns.asyncquery
import dns.exception
import dns.message
import dns.rdatatype

from seamark.providers.dns.answering import answered
from seamark.providers.dns.authority import Authority, NameServer
from seamark.providers.dns.model import Answered, Content, QueryResults, Record
from seamark.providers.dns.rdata import IN, absolute

TRIES = 3
PATIENCE = 2.0  # seconds for one response
PAUSE = 0.3  # seconds before the next try where the server's host refuses at once
PER_SECOND = 500.0
PAYLOAD = 1232  # bytes of a UDP response
LONGEST = 20.0  # seconds


class _Silent(Exception):
    """The server does not respond; why."""


@dataclass
class _Lane:
    """One server: `lock` is held by the question that is on its way, `free` is when the next one may be sent."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    free: float = 0.0


class NameServers:
    """Contract: `model.Querier`. Shared by all zones of a provider."""

    def __init__(self, authority: Authority, *, patience: float = PATIENCE) -> None:
        self._authority = authority
        self._patience = patience
        self._lanes: dict[str, _Lane] = {}
        self.questions = 0

    async def ask(self, content: Content, records: Sequence[Record]) -> QueryResults:
        deadline = asyncio.get_running_loop().time() + LONGEST
        by_server: dict[NameServer, list[Record]] = {}
        expected: dict[Record, int] = {}
        for record in records:
            servers = await self._authority.servers(content, record.name)
            expected[record] = len(servers)
            for server in servers:
                by_server.setdefault(server, []).append(record)
        found: dict[NameServer, dict[Record, Answered]] = {server: {} for server in by_server}
        silent: dict[str, str] = {}

        async def query_server(server: NameServer) -> None:
            try:
                for record in by_server[server]:
                    if asyncio.get_running_loop().time() > deadline:
                        return
                    found[server][record] = await self._answer(server, content.zone, record)
            except _Silent as error:
                silent[server.label] = str(error)

        async with asyncio.TaskGroup() as tasks:
            for server in by_server:
                tasks.create_task(query_server(server))
        unserved = tuple(record for record, count in expected.items() if not count)
        return QueryResults(_combined(records, expected, found), silent, unserved)

    async def _answer(self, server: NameServer, zone: str, record: Record) -> Answered:
        response = await self._respond(server, record)
        try:
            answer = answered(record, zone, response)
        except (dns.exception.DNSException, ValueError):
            answer = Answered(served=False, message="answers with a record that can't be read")
        message = f"{server.label} {answer.message}" if answer.message else ""
        return Answered(answer.served, answer.comparable, message)

    async def _respond(self, server: NameServer, record: Record) -> dns.message.Message:
        lane = self._lanes.setdefault(server.label, _Lane())
        async with lane.lock:
            why = "no response"
            for number in range(TRIES):
                host, port = server.addresses[number % len(server.addresses)]
                await self._wait_for(lane)
                try:
                    return await self._exchange(record, host, port)
                except (TimeoutError, dns.exception.Timeout):
                    why = "no response"
                except (dns.exception.DNSException, EOFError):
                    why = "an unreadable response"
                except OSError as error:
                    why = error.strerror or str(error) or "no connection"
                    await asyncio.sleep(PAUSE)
            raise _Silent(why)

    async def _exchange(self, record: Record, host: str, port: int) -> dns.message.Message:
        self.questions += 1
        query = dns.message.make_query(
            absolute(record.name), dns.rdatatype.from_text(record.type), IN, use_edns=0, payload=PAYLOAD, flags=0
        )
        response, _ = await dns.asyncquery.udp_with_fallback(
            query, host, timeout=self._patience, port=port, ignore_unexpected=True, ignore_errors=True
        )
        return response

    async def _wait_for(self, lane: _Lane) -> None:
        now = asyncio.get_running_loop().time()
        if lane.free > now:
            await asyncio.sleep(lane.free - now)
        lane.free = max(now, lane.free) + 1.0 / PER_SECOND


def _combined(
    records: Sequence[Record],
    expected: Mapping[Record, int],
    found: Mapping[NameServer, Mapping[Record, Answered]],
) -> dict[Record, Answered]:
    """The worst answer about each record, of those about which enough is known."""
    combined: dict[Record, Answered] = {}
    for record in records:
        answers = [answers[record] for answers in found.values() if record in answers]
        worst = min(answers, key=lambda answer: (answer.served, answer.comparable is False), default=None)
        if worst is not None and (len(answers) == expected[record] or (not worst.served and worst.comparable)):
            combined[record] = worst
    return combined
