"""Making the data plane serve a gateway, and finding out whose fault it is when it won't.

A refusal names a response, not an object. The routes that came or changed since the last snapshot that was taken are
put aside, as they were taken last, and let in again by halves, until those that are refused stand alone; all others are
served meanwhile. Who is refused is not served; it is tried again when it has changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from seamark.families.gateway.shapes import Attached
from seamark.families.gateway.translate import Memory, Picture, translate
from seamark_edge.dataplane.model import Origin, Snapshot
from seamark_edge.dataplane.protocol import DataPlane, Outcome, Rejected, Served, Superseded
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Call
from seamark_runtime.errors import Retry


@dataclass(frozen=True)
class Program:
    """The action of a call: this gateway is to be served so."""

    gateway: Key
    version: str
    picture: Picture = field(compare=False, repr=False)
    snapshot: Snapshot = field(compare=False, repr=False)


@dataclass(frozen=True)
class Remove:
    """The action of a call: this gateway is gone."""

    gateway: Key


@dataclass(frozen=True)
class Programmed:
    """What came of it: by how many instances it is served, and without whom."""

    instances: int
    guilty: tuple[tuple[Origin, str], ...] = ()
    refused: str = ""  # it was refused, and not for any route: nothing new is served


def call(action: Program, every: float, timeout: float) -> Call[Programmed]:
    """Its target has the version in it: a newer snapshot does not wait for the answer to an older one."""
    target = f"gateway {action.gateway} {action.version}"
    return Call(target, action, every=every, shelf_life=every * 3, timeout=timeout)


@dataclass
class Record:
    """What is known of one gateway's programming."""

    memory: Memory = field(default_factory=Memory)
    good: dict[Origin, Attached] = field(default_factory=dict)  # the routes as they were taken last
    picture: Picture | None = None  # in which they were
    bad: dict[Origin, tuple[Attached, str]] = field(default_factory=dict)  # those that were refused, and the words


@dataclass
class Programmer:
    """Carries out the calls of all gateways."""

    plane: DataPlane
    records: dict[Key, Record] = field(default_factory=dict)

    def memory(self, gateway: Key) -> Memory:
        return self.records.setdefault(gateway, Record()).memory

    def refused(self, picture: Picture) -> list[tuple[Origin, str]]:
        """The routes of this picture that were refused last, and did not change since."""
        record = self.records.get(picture.gateway.key, Record())
        attached = {one.route.origin: one for one in picture.attached} if record.bad else {}
        return [(origin, words) for origin, (one, words) in record.bad.items() if attached.get(origin) == one]

    async def perform(self, action: Program | Remove) -> Programmed | None:
        if isinstance(action, Remove):
            self.records.pop(action.gateway, None)
            await self.plane.remove(action.gateway)
            return None
        return await Attempt(self.plane, self.records.setdefault(action.gateway, Record()), action).run()


class Attempt:
    """One gateway is programmed. What was refused and did not change since is left out from the start."""

    def __init__(self, plane: DataPlane, record: Record, action: Program) -> None:
        self._plane = plane
        self._record = record
        self._action = action
        self._attached = {one.route.origin: one for one in action.picture.attached}
        self._last_good = record.good
        self._guilty = {
            origin: words for origin, (one, words) in record.bad.items() if self._attached.get(origin) == one
        }

    async def run(self) -> Programmed:
        outcome = await self._served_without(self._guilty)
        if isinstance(outcome, Rejected):
            return await self._search_all(outcome)
        return self._end(outcome)

    def _end(self, outcome: Outcome) -> Programmed:
        match outcome:
            case Served(instances):
                record, guilty = self._record, self._guilty
                record.good = {origin: one for origin, one in self._attached.items() if origin not in guilty}
                record.bad = {origin: (self._attached[origin], words) for origin, words in guilty.items()}
                record.picture = self._action.picture
                return Programmed(instances, tuple(guilty.items()))
            case Rejected(message):
                return Programmed(0, tuple(self._guilty.items()), message)
            case Superseded():
                raise Retry("a newer configuration came meanwhile")

    async def _search_all(self, first: Rejected) -> Programmed:
        good = self._record.good
        suspects = [
            origin for origin, one in self._attached.items() if good.get(origin) != one and origin not in self._guilty
        ]
        outcome = await self._trial(suspects)
        if isinstance(outcome, Rejected):  # not for those that are new: then any may be at fault
            suspects = [origin for origin in self._attached if origin not in self._guilty]
            self._last_good = {}  # it is not good any more
            outcome = await self._trial(suspects)
        if not isinstance(outcome, Served):
            return self._end(outcome if isinstance(outcome, Superseded) else first)
        await self._search(tuple(suspects), frozenset(), first.message)
        return self._end(await self._served_without(self._guilty))

    async def _search(self, suspects: tuple[Origin, ...], aside: frozenset[Origin], message: str) -> None:
        """At least one of these is refused: `message` is the error. Others wait meanwhile."""
        if len(suspects) == 1:
            self._guilty[suspects[0]] = message
            return
        half = len(suspects) // 2
        for part, rest in ((suspects[:half], suspects[half:]), (suspects[half:], ())):
            outcome = await self._trial({*rest, *aside})
            if isinstance(outcome, Rejected):
                await self._search(part, aside | frozenset(rest), outcome.message)
            elif isinstance(outcome, Superseded):
                raise Retry("a newer configuration came meanwhile")

    async def _trial(self, aside: Iterable[Origin]) -> Outcome:
        """Those that wait are served as last accepted."""
        picture, good = self._action.picture, self._last_good
        aside = set(aside)
        attached = tuple(
            good[origin] if origin in aside else one
            for origin, one in self._attached.items()
            if origin not in aside or origin in good
        )
        before = self._record.picture.endpoints if self._record.picture is not None else {}
        mixed = replace(picture, attached=attached, endpoints={**before, **picture.endpoints})
        return await self._program(mixed, self._guilty)

    async def _served_without(self, without: Iterable[Origin]) -> Outcome:
        return await self._program(self._action.picture, without)

    async def _program(self, picture: Picture, without: Iterable[Origin]) -> Outcome:
        without = frozenset(without)
        if picture is self._action.picture and not without:
            return await self._plane.program(self._action.gateway, self._action.snapshot)
        return await self._plane.program(self._action.gateway, translate(picture, self._record.memory, without))
