"""Authoritative name servers for tests that need no network: for zones in memory, and for webhook providers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import Answered, Content, QueryResults, Record

SERVED = Answered(served=True)


class Agreeing:
    """Answers with exactly the record that it is asked for."""

    async def ask(self, content: Content, records: Sequence[Record]) -> QueryResults:
        return QueryResults(dict.fromkeys(records, SERVED))


class AnsweringMemory(MemoryProvider):
    """Zones in memory with a name server that answers what they hold.

    `otherwise`: by name, what it answers instead. `silent`: why it does not respond; empty while it does.
    """

    def __init__(self, zones: Sequence[str], *, deny: Iterable[str] = ()) -> None:
        super().__init__(zones, deny=deny)
        self.querier = self
        self.otherwise: dict[str, str] = {}
        self.silent = ""
        self.asked = 0

    async def ask(self, content: Content, records: Sequence[Record]) -> QueryResults:
        self.asked += len(records)
        if self.silent:
            return QueryResults({}, {"192.0.2.53:53": self.silent})
        return QueryResults({record: self._found(content.zone, record) for record in records})

    def _found(self, zone: str, record: Record) -> Answered:
        if message := self.otherwise.get(record.name):
            return Answered(served=False, message=f"192.0.2.53:53 {message}")
        if self.content(zone).get(record.slot) == record:
            return SERVED
        return Answered(served=False, message=f"192.0.2.53:53 has no {record.type}")
