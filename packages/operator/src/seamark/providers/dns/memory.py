"""Zones in this process: for tests and dry runs; the fake of the real providers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from seamark.providers.dns.model import Change, Content, Moved, Querier, Record, RecordRefused, zone_of
from seamark_runtime.untrusted.dnsnames import within


class MemoryProvider:
    """Zones that behave like a name server's: changes are atomic, tested against what was read, and move the serial.

    `deny` names those that it refuses, as an update policy would.
    """

    set_identifiers = True
    adjusts = False
    querier: Querier | None = None  # it is on no name server

    def __init__(self, zones: Sequence[str], *, deny: Iterable[str] = ()) -> None:
        self._contents = {zone: Content(zone, 1, {}) for zone in zones}
        self.deny = set(deny)
        self.reads = 0
        self.updates = 0

    @property
    def zones(self) -> tuple[str, ...]:
        return tuple(self._contents)

    async def read(self, zone: str) -> Content:
        self.reads += 1
        return self._contents[zone]

    async def apply(self, zone: str, changes: Sequence[Change]) -> None:
        self.updates += 1
        before = self._contents[zone]
        for change in changes:
            for part in change.parts:
                if before.get(part.record.slot) != part.before:
                    raise Moved(f"{part.record} is not as it was read")
        for change in changes:
            for part in change.parts:
                if not within(part.record.name, zone):
                    problem = f"{part.record.name} is outside of the zone {zone} (NOTZONE)"
                    raise RecordRefused(problem, reason="NOTZONE", only=(change.slot,))
        denied = [change for change in changes for part in change.parts if part.record.name in self.deny]
        if denied:
            raise RecordRefused("the server refused it (REFUSED)", reason="REFUSED")
        self._replace(zone, [(part.before, part.after) for change in changes for part in change.parts])

    async def adjust(self, records: Sequence[Record]) -> list[Record]:
        return list(records)

    def weigh(self, change: Change) -> float:
        return 0.01 * len(change.parts)

    async def close(self) -> None:
        """Nothing is open."""

    # ---- by hand

    def put(self, record: Record) -> None:
        zone = self._zone(record.name)
        self._replace(zone, [(self._contents[zone].get(record.slot), record)])

    def remove(self, name: str, type_: str) -> None:
        zone = self._zone(name)
        standing = self._contents[zone].get((name, type_, ""))
        self._replace(zone, [(standing, None)])

    def content(self, zone: str) -> Content:
        return self._contents[zone]

    def _zone(self, name: str) -> str:
        zone = zone_of(name, self.zones)
        assert zone is not None, f"{name} is in none of {self.zones}"
        return zone

    def _replace(self, zone: str, pairs: Iterable[tuple[Record | None, Record | None]]) -> None:
        content = self._contents[zone]
        changed: dict[str, tuple[Record, ...]] = {}
        for before, after in pairs:
            record = after or before
            if record is None:
                continue
            others = [
                record_at_name
                for record_at_name in changed.get(record.name, content.at(record.name))
                if record_at_name.slot != record.slot
            ]
            changed[record.name] = tuple(
                sorted([*others, *([after] if after else [])], key=lambda record_at_name: record_at_name.slot)
            )
        self._contents[zone] = content.amended(content.serial + 1, changed)
