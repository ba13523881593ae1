"""Making the data plane serve a gateway, and finding out whose fault it is when it won't.

A refusal names a response, not an object. The routes that came or changed since the last snapshot that was taken are
put aside and let in again by halves, until those that are refused stand alone; all others are served meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from seamark.api.meta import Key
from seamark.core.calls import Call
from seamark.core.errors import Retry
from seamark.families.gateway.shapes import Attached
from seamark.families.gateway.translate import Memory, Picture, translate
from seamark.providers.dataplane.model import Origin, Snapshot
from seamark.providers.dataplane.protocol import DataPlane, Outcome, Rejected, Served, Superseded


@dataclass(frozen=True)
class Program:
    """The action of a call: this gateway is to be served so."""

    gateway: Key
    version: str
    picture: Picture = field(compare=False, repr=False)
    snapshot: Snapshot = field(compare=False, repr=False)


@dataclass(frozen=True)
class Remove:
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
class Programmer:
    """Carries out the calls of all gateways."""

    plane: DataPlane
    memories: dict[Key, Memory] = field(default_factory=dict)
    good: dict[Key, dict[Origin, Attached]] = field(default_factory=dict)  # the routes as they were taken last

    def memory(self, gateway: Key) -> Memory:
        return self.memories.setdefault(gateway, Memory())

    async def perform(self, action: Program | Remove) -> Programmed | None:
        if isinstance(action, Remove):
            self.memories.pop(action.gateway, None)
            self.good.pop(action.gateway, None)
            await self.plane.remove(action.gateway)
            return None
        outcome = await self.plane.program(action.gateway, action.snapshot)
        if isinstance(outcome, Rejected):
            return await self._without_the_guilty(action, outcome)
        return self._taken(action, outcome, ())

    def _taken(self, action: Program, outcome: Outcome, guilty: Iterable[tuple[Origin, str]]) -> Programmed:
        guilty = tuple(guilty)
        match outcome:
            case Served(instances):
                bad = {origin for origin, _ in guilty}
                self.good[action.gateway] = {
                    one.route.origin: one for one in action.picture.attached if one.route.origin not in bad
                }
                return Programmed(instances, guilty)
            case Rejected(message):
                return Programmed(0, guilty, message)
            case Superseded():
                raise Retry("a newer configuration came meanwhile")

    async def _without_the_guilty(self, action: Program, first: Rejected) -> Programmed:
        known = self.good.get(action.gateway, {})
        suspects = [one.route.origin for one in action.picture.attached if known.get(one.route.origin) != one]
        words: dict[Origin, str] = {}
        outcome = await self._try(action, suspects)
        if isinstance(outcome, Rejected):  # not for those that are new: then any may be at fault
            suspects = [one.route.origin for one in action.picture.attached]
            outcome = await self._try(action, suspects)
        if not isinstance(outcome, Served):
            return self._taken(action, outcome if isinstance(outcome, Superseded) else first, ())
        await self._search(action, tuple(suspects), frozenset(), first.message, words)
        outcome = await self._try(action, words)
        return self._taken(action, outcome, words.items())

    async def _search(
        self,
        action: Program,
        suspects: tuple[Origin, ...],
        aside: frozenset[Origin],
        message: str,
        words: dict[Origin, str],
    ) -> None:
        """Among these there is a guilty one: `message` is what was said to them. Others stay aside meanwhile."""
        if len(suspects) == 1:
            words[suspects[0]] = message
            return
        half = len(suspects) // 2
        for part, rest in ((suspects[:half], suspects[half:]), (suspects[half:], ())):
            outcome = await self._try(action, {*rest, *aside, *words})
            if isinstance(outcome, Rejected):
                await self._search(action, part, aside | frozenset(rest), outcome.message, words)
            elif isinstance(outcome, Superseded):
                raise Retry("a newer configuration came meanwhile")

    async def _try(self, action: Program, without: Iterable[Origin]) -> Outcome:
        snapshot = translate(action.picture, self.memory(action.gateway), frozenset(without))
        return await self.plane.program(action.gateway, snapshot)
