"""Programming the data plane, and finding the routes that it refuses.

A refusal names a response, not an object. The routes that were added or changed since the last snapshot that was
accepted are set aside, as they were accepted last, and let in again by halves, until those that are refused are
isolated; all others are served meanwhile. A refused route is not served; it is tried again when it has changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from seamark.families.gateway.model.results import RefusedRoutes
from seamark.families.gateway.model.routes import AttachedRoute, Backend
from seamark.families.gateway.translation.snapshot import translate
from seamark.families.gateway.translation.state import Program, Programmed, TranslationInput
from seamark_edge.dataplane.model import Origin
from seamark_edge.dataplane.protocol import DataPlane, Outcome, Rejected, Served, Superseded
from seamark_runtime.errors import Retry


@dataclass(frozen=True)
class Accepted:
    """What the data plane has accepted last of a gateway, and what it refused then."""

    routes: Mapping[Origin, AttachedRoute] = field(default_factory=dict)
    endpoints: Mapping[Backend, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    refused: RefusedRoutes = field(default_factory=RefusedRoutes)


class Attempt:
    """One gateway is programmed. What was refused and did not change since is left out from the start.

    `accepted` is what was accepted before; after `run` it is what is accepted now.
    """

    def __init__(self, plane: DataPlane, accepted: Accepted, action: Program) -> None:
        self._plane = plane
        self.accepted = accepted
        self._action = action
        self._attached = {route.route.origin: route for route in action.input.attached}
        self._last_good = accepted.routes
        self._refused = accepted.refused.unchanged(action.input.attached)

    async def run(self) -> Programmed:
        outcome = await self._program(self._action.input)
        if isinstance(outcome, Rejected):
            return await self._search_all(outcome)
        return self._end(outcome)

    def _end(self, outcome: Outcome) -> Programmed:
        match outcome:
            case Served(instances):
                attached, refused = self._attached, self._refused
                self.accepted = Accepted(
                    {origin: route for origin, route in attached.items() if origin not in refused},
                    self._action.input.endpoints,
                    RefusedRoutes(tuple((attached[origin], error) for origin, error in refused.items())),
                )
                return Programmed(instances, tuple(refused.items()))
            case Rejected(message):
                return Programmed(0, tuple(self._refused.items()), message)
            case Superseded():
                raise Retry("a newer configuration came meanwhile")

    async def _search_all(self, first: Rejected) -> Programmed:
        good = self._last_good
        suspects = [
            origin
            for origin, route in self._attached.items()
            if good.get(origin) != route and origin not in self._refused
        ]
        outcome = await self._trial(suspects)
        if isinstance(outcome, Rejected):  # not for those that are new: then any may be the cause
            suspects = [origin for origin in self._attached if origin not in self._refused]
            self._last_good = {}  # it is not accepted any more
            outcome = await self._trial(suspects)
        if not isinstance(outcome, Served):
            return self._end(outcome if isinstance(outcome, Superseded) else first)
        await self._search(tuple(suspects), frozenset(), first.message)
        return self._end(await self._program(self._action.input))

    async def _search(self, suspects: tuple[Origin, ...], aside: frozenset[Origin], message: str) -> None:
        """At least one of the suspects is refused: `message` is the error. The others are set aside meanwhile."""
        if len(suspects) == 1:
            self._refused[suspects[0]] = message
            return
        half = len(suspects) // 2
        for part, rest in ((suspects[:half], suspects[half:]), (suspects[half:], ())):
            outcome = await self._trial({*rest, *aside})
            if isinstance(outcome, Rejected):
                await self._search(part, aside | frozenset(rest), outcome.message)
            elif isinstance(outcome, Superseded):
                raise Retry("a newer configuration came meanwhile")

    async def _trial(self, aside: Iterable[Origin]) -> Outcome:
        """Those that are set aside are served as last accepted."""
        given, good, aside = self._action.input, self._last_good, set(aside)
        attached = tuple(
            good[origin] if origin in aside else route
            for origin, route in self._attached.items()
            if origin not in aside or origin in good
        )
        endpoints = {**self.accepted.endpoints, **given.endpoints}
        return await self._program(replace(given, attached=attached, endpoints=endpoints))

    async def _program(self, given: TranslationInput) -> Outcome:
        """Without the routes that are known to be refused."""
        action, without = self._action, frozenset(self._refused)
        snapshot = action.snapshot
        if without or given is not action.input:
            snapshot = translate(given, action.hosts, without).snapshot
        return await self._plane.program(action.gateway, snapshot)
