"""A webhook provider: an external program with ExternalDNS's webhook protocol over HTTP.

- It is one zone, "": the whole of what the other program serves. Which names it serves is asked with the first reading,
  and again after `FILTER_SECONDS` seconds: its settings may have changed.
- It does not report single records, so a refused one is found by halving; what counts is what `GET /records` shows.
- Its changes are not atomic: ownership is written first and removed last. A part that was applied is not sent again.
- Records are read once before changes and once after them, however many messages these take; where the last reading
  is a few seconds old, that one counts.
- Answers are read whole, up to a limit, within one deadline, and decoded record by record while they arrive. Whatever
  the other program answers raises `Retry`, `Unwritable` or `RecordRefused`, and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from seamark.providers.dns.domains import Domains, InvalidFilter
from seamark.providers.dns.endpoints import (
    STAR,
    DomainFilter,
    Endpoint,
    endpoint_of,
    message_of,
    ordered,
    record_of,
    to_json,
)
from seamark.providers.dns.failurelimit import FailureLimit
from seamark.providers.dns.model import Change, Content, Moved, Part, Querier, Record, RecordRefused, Slot
from seamark.providers.dns.webhook_client import ADJUST, APPLY, NEGOTIATE, RECORDS, WebhookClient
from seamark.providers.dns.webhook_client import Endpoint as Address
from seamark_runtime.errors import Refused, Retry
from seamark_runtime.timeslice import TimeSlice
from seamark_runtime.untrusted.bodies import JsonArray, bounded, read_body
from seamark_runtime.untrusted.decoding import Limits, Malformed, decode_json

EVERYTHING = ""
BATCH = 200  # changes in a message
LARGEST = 64 * 1024 * 1024  # bytes of an answer
CHUNK = 64 * 1024  # bytes that are looked at in one go
FILTER = Limits(size=1024 * 1024, depth=10)
ENDPOINT = Limits(size=1024 * 1024, depth=10)
FILTER_SECONDS = 30.0  # seconds
RECENT = 5.0  # seconds for which a reading counts as what a change starts from
TIMEOUT = 60.0  # seconds
MOST_PARENTS = 100_000  # names that are remembered
PREFIX = "set dns_txt_prefix to one that ends with a dot, as in txt-%{record_type}."


class WebhookProvider:
    """A client of the protocol. A 5xx is for now; any other answer than the one that is due is a refusal.

    - `_applied`: what messages have changed since the last reading.
    - `_read_at`: when the last reading began, by the loop's clock; before any it is long ago. `_doubt_ends`: a failed
      message may have had a part of its effect, and until then it does not cause another reading.
    """

    set_identifiers = True
    adjusts = True

    def __init__(
        self,
        url: str,
        *,
        timeout: float = TIMEOUT,
        write_timeout: float | None = None,
        largest: int = LARGEST,
        querier: Querier | None = None,
    ) -> None:
        self._client = WebhookClient(url, read_timeout=timeout, write_timeout=write_timeout or timeout)
        self._largest = largest
        self.querier = querier
        self._content: Content | None = None
        self._applied: dict[Slot, Record | None] = {}
        self._read_at = self._doubt_ends = float("-inf")
        self._filter: Domains | None = None
        self._filter_read = 0.0  # when `_filter` was answered, by the loop's clock
        self._reading = asyncio.Lock()
        self._writing = asyncio.Lock()
        self._limit = FailureLimit()
        self._owning: set[str] = set()  # names below which an ownership record of ours was listed after it was made
        self.updates = 0

    @property
    def zones(self) -> tuple[str, ...]:
        return (EVERYTHING,)

    async def negotiate(self) -> Domains:
        """Which names it serves. A filter that can't be applied serves nothing: it is an error of the zone."""
        async with self._client.request(NEGOTIATE) as response:
            body = await read_body(response.content.iter_chunked(CHUNK), FILTER.size)
            try:
                return decode_json(body, DomainFilter, FILTER).domains()
            except InvalidFilter as error:
                raise Malformed(f"its domain filter can't be applied: {error}") from None

    async def read(self, zone: str) -> Content:
        async with self._reading:
            began = _now()
            if self._filter is None or began > self._filter_read + FILTER_SECONDS:
                self._filter = await self.negotiate()
                self._filter_read = _now()
            found: dict[str, list[Record]] = {}
            for record in await self._records(RECORDS):
                found.setdefault(record.name, []).append(record)
            known = self._content or Content(zone, 0, {})
            changed = await _differences(known, found)
            if self._content is None:
                self._content = Content(zone, 0, changed)
            elif changed:
                self._content = known.amended(known.serial + 1, changed)
            self._read_at = began
            self._applied.clear()
            return self._content

    async def apply(self, zone: str, changes: Sequence[Change]) -> None:
        async with self._writing:
            slots = [change.slot for change in changes]
            if (wait := self._limit.wait(_now(), slots)) > 0:
                raise Retry(self._limit.problem, after=wait)
            pending = await self._pending(zone, changes)
            self._check_served(pending)
            first, last = ordered(pending)
            await self._make(first, slots)
            if last:
                await self._check_owned(zone, pending)
                await self._check_gone(zone, pending)
            await self._make(last, slots)

    async def _make(self, parts: Sequence[Part], slots: Sequence[Slot]) -> None:
        if parts:
            await self._send(to_json(message_of(parts)), slots)
            self._applied.update({part.record.slot: part.after for part in parts})

    def _check_served(self, changes: Sequence[Change]) -> None:
        """One name that it does not serve is reported at a time, with all changes that need it."""
        for change in changes if self._filter is not None else ():
            for part in change.parts:
                name = part.record.name
                if self._filter is None or self._filter.match(
                    name.replace("*", STAR) if part.ownership_of(change) else name
                ):
                    continue
                problem = f"the webhook provider does not serve {name}"
                if part.ownership_of(change):
                    problem = f"{problem}, where the ownership record of {change.slot[0]} would be; {PREFIX}"
                raise RecordRefused(problem, reason="Filtered", only=(change.slot,))

    async def _check_owned(self, zone: str, changes: Sequence[Change]) -> None:
        """A record is not made before its ownership record is listed: a provider may leave out what is in none of its
        zones, and report success. One ownership record that was listed proves that for all names beside it."""
        made = [
            (change, part.record)
            for change in changes
            for part in change.parts
            if part.ownership_of(change) and part.before is None and _parent(part.record.name) not in self._owning
        ]
        if not made:
            return
        content = await self.read(zone)
        missing = {change.slot: record.name for change, record in made if content.get(record.slot) is None}
        self._owning.update(_parent(record.name) for change, record in made if change.slot not in missing)
        while len(self._owning) > MOST_PARENTS:
            self._owning.pop()
        if missing:
            name, at = next((slot[0], at) for slot, at in missing.items())
            problem = f"the webhook provider does not list the ownership record of {name} at {at}; {PREFIX}"
            raise RecordRefused(problem, only=[slot for slot, found in missing.items() if found == at])

    async def _pending(self, zone: str, changes: Sequence[Change]) -> list[Change]:
        """The changes without parts that are in place. The protocol has no prerequisites: what is not as it was read is
        not sent."""
        if self._content is None or _now() > self._read_at + RECENT:
            await self.read(zone)
        found = []
        for change in changes:
            parts = [part for part in change.parts if not self._holds(part)]
            if not all(_same(self._current(part.record.slot), part.before) for part in parts):
                raise Moved(f"{change.slot[0]} is not as it was read")
            found.append(Change(change.slot, tuple(parts)))
        return found

    def _current(self, slot: Slot) -> Record | None:
        if slot in self._applied:
            return self._applied[slot]
        return self._content.get(slot) if self._content is not None else None

    def _holds(self, part: Part) -> bool:
        return part.before != part.after and _same(self._current(part.record.slot), part.after)

    async def _send(self, body: bytes, slots: Sequence[Slot]) -> None:
        self.updates += 1
        try:
            async with self._client.request(APPLY, body):
                pass
        except (Retry, Refused) as error:
            now = _now()
            self._limit.failed(now, error.message, slots, after=error.after if isinstance(error, Retry) else None)
            if now >= self._doubt_ends:
                self._read_at, self._doubt_ends = float("-inf"), now + RECENT
            raise
        self._limit.succeeded()

    async def adjust(self, records: Sequence[Record]) -> list[Record]:
        """The records as the provider would rather have them."""
        body = to_json([endpoint_of(record) for record in records])
        return await self._records(ADJUST, body)

    def weigh(self, change: Change) -> float:
        """While it refuses everything, a message has one change: one of them may be accepted."""
        return 1.0 if self._limit.exhausted else 1.0 / BATCH

    async def close(self) -> None:
        await self._client.close()

    async def _records(self, address: Address, body: bytes | None = None) -> list[Record]:
        """The records of an answer, decoded as they arrive; those that no name server could hold are left out."""
        array, pace, found, number = JsonArray(ENDPOINT.size), TimeSlice(), list[Record](), 0
        async with self._client.request(address, body) as response:
            async for chunk in bounded(response.content.iter_chunked(CHUNK), self._largest):
                await pace.turn()
                for item in array.feed(chunk):
                    await pace.turn()
                    if (record := record_of(_endpoint(item, number), listed=True)) is not None:
                        found.append(record)
                    number += 1
            array.end()
        return found

    async def _check_gone(self, zone: str, changes: Sequence[Change]) -> None:
        """An ownership record is not removed while its record is listed: no owner would be known then."""
        going = [change for change in changes if any(p.ownership_of(change) and p.after is None for p in change.parts)]
        slots = {
            part.record.slot: change.slot
            for change in going
            for part in change.parts
            if part.after is None and not part.ownership_of(change)
        }
        if not slots:
            return
        content = await self.read(zone)
        if left := [slot for slot in slots if content.get(slot) is not None]:
            name, type_, _ = left[0]
            problem = f"the webhook provider took the deletion of {name} {type_}, and still lists the record"
            raise RecordRefused(problem, only=[slots[slot] for slot in left])


def _parent(name: str) -> str:
    return name.partition(".")[2]


def _same(found: Record | None, expected: Record | None) -> bool:
    return expected is None if found is None else found.means(expected)


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _differences(known: Content, found: Mapping[str, list[Record]]) -> dict[str, tuple[Record, ...]]:
    """The names at which there is something else now, with what is there; nothing for names that are gone."""
    pace = TimeSlice()
    changed: dict[str, tuple[Record, ...]] = {}
    for name, records in found.items():
        await pace.turn()
        now = tuple(sorted(records, key=lambda record: record.slot))
        if now != known.at(name):
            changed[name] = now
    for name in known.names:
        await pace.turn()
        if name not in found:
            changed[name] = ()
    return changed


def _endpoint(item: bytes, number: int) -> Endpoint:
    try:
        return decode_json(item, Endpoint, ENDPOINT)
    except Malformed as error:
        raise Malformed(f"record {number}: {error}") from None
