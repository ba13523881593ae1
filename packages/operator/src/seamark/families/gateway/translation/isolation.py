"""Programming the data plane, and finding the objects that it refuses.

A refusal names resources, not an object. The objects that were added or changed since the last snapshot that was
accepted, and have a part in those resources, are set aside, as they were accepted last, and let in again by halves,
until those that are refused are isolated; all others are served meanwhile. Policies are let in after the routes that
they apply to. A refused object is not served, and is tried again when anything that its refusal depends on has changed.
What no object is the cause of is reported on the gateway: the data plane goes on with what it has accepted last.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from seamark.families.gateway.model.results import RefusedObject, RefusedObjects
from seamark.families.gateway.translation.pieces import (
    ANY,
    POLICIES,
    Absent,
    cause_of,
    kinds_of,
    may_cause,
    pieces_of,
    with_pieces,
)
from seamark.families.gateway.translation.snapshot import translate
from seamark.families.gateway.translation.state import Program, Programmed, TranslationInput
from seamark_edge.dataplane.model import Origin
from seamark_edge.dataplane.protocol import DataPlane, Outcome, Rejected, Served, Superseded
from seamark_runtime.errors import Retry

ON_TRIAL = "the data plane is being asked about it"


@dataclass(frozen=True)
class Accepted:
    """What the data plane has accepted last of a gateway, and what it refused then."""

    pieces: Mapping[Origin, Any] = field(default_factory=dict)
    input: TranslationInput | None = None
    refused: RefusedObjects = field(default_factory=RefusedObjects)


class Attempt:
    """One gateway is programmed. What was refused and did not change since is left out from the start.

    `accepted` is what was accepted before; after `run` it is what is accepted now.
    """

    def __init__(self, plane: DataPlane, accepted: Accepted, action: Program) -> None:
        self._plane = plane
        self.accepted = accepted
        self._action = action
        self._pieces = pieces_of(action.input)
        self._good = accepted.pieces
        self._refused = accepted.refused.unchanged(self._cause)
        self._kind = ANY  # the kind of the refused resources whose cause is searched

    def _cause(self, origin: Origin) -> object:
        return cause_of(self._action.input, self._pieces, origin)

    async def run(self) -> Programmed:
        outcome = await self._program({})
        while isinstance(outcome, Rejected):
            known = len(self._refused)
            outcome = await self._isolate(outcome)
            if isinstance(outcome, Rejected) and len(self._refused) == known:
                break
        return self._end(outcome)

    def _end(self, outcome: Outcome) -> Programmed:
        match outcome:
            case Served(instances):
                pieces = {o: piece for o in self._pieces if (piece := self._accepted_piece(o)) is not None}
                self.accepted = Accepted(pieces, self._action.input, self._remembered())
                return Programmed(instances, tuple(self._refused.items()))
            case Rejected(message):
                self.accepted = replace(self.accepted, refused=self._remembered())
                return Programmed(0, tuple(self._refused.items()), message)
            case Superseded():
                raise Retry("a newer configuration came meanwhile")

    def _remembered(self) -> RefusedObjects:
        return RefusedObjects(tuple(RefusedObject(o, self._cause(o), error) for o, error in self._refused.items()))

    def _accepted_piece(self, origin: Origin) -> Any:
        """Of a refused object, its last good one."""
        return self.accepted.pieces.get(origin) if origin in self._refused else self._pieces[origin]

    # ---- isolating

    async def _isolate(self, first: Rejected) -> Outcome:
        """The outcome without those objects that are found to be refused."""
        tried = False
        for kind in kinds_of(first, self._action.snapshot):
            self._kind = kind
            possible = [o for o in self._pieces if o not in self._refused and may_cause(kind, o)]
            tried = tried or bool(possible)
            if possible and (suspects := await self._suspects(possible)):
                await self._search_in_order(suspects, first.message)
                break
        return await self._program({}) if tried else first  # what is served is not to be what a trial has left

    async def _suspects(self, possible: list[Origin]) -> list[Origin]:
        """Without these the configuration is accepted: of the possible causes as few as that holds for."""
        changed = [origin for origin in possible if self._good.get(origin) != self._pieces[origin]]
        known: list[Origin] = []
        for suspects in ([origin for origin in changed if origin.kind in POLICIES], changed, possible):
            if len(suspects) == len(known):
                continue
            if len(suspects) > len(changed):
                self._good = {}  # what was accepted is not accepted any more
            known, outcome = suspects, await self._trial(suspects)
            if not isinstance(outcome, Rejected):
                return suspects
        return []

    async def _search_in_order(self, suspects: list[Origin], message: str) -> None:
        """Policies after the others."""
        policies = tuple(origin for origin in suspects if origin.kind in POLICIES)
        others = tuple(origin for origin in suspects if origin.kind not in POLICIES)
        known = len(self._refused)
        for part, later in ((others, policies), (policies, ())):
            if not part:
                continue
            outcome = await self._trial(later) if later or len(self._refused) > known else Rejected(message)
            if isinstance(outcome, Rejected):
                await self._search(part, frozenset(later), outcome.message)

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

    async def _trial(self, aside: Iterable[Origin]) -> Outcome:
        """Those that are set aside are served as last accepted. What is refused of another kind of resources than that
        which is searched (a port that is in use) does not count."""
        outcome = await self._program({origin: self._good.get(origin, Absent(ON_TRIAL)) for origin in aside})
        if isinstance(outcome, Superseded):
            raise Retry("a newer configuration came meanwhile")
        kinds = kinds_of(outcome, self._action.snapshot) if isinstance(outcome, Rejected) else ()
        counts = ANY in (self._kind, *kinds) or self._kind in kinds
        return outcome if counts else Served(0)

    async def _program(self, aside: Mapping[Origin, Any]) -> Outcome:
        """Without the objects that are known to be refused."""
        action, others = self._action, {**aside, **self._absent(self._refused)}
        snapshot = action.snapshot
        if others:
            given, before = with_pieces(action.input, others), self.accepted.input
            if aside and before is not None:  # earlier routes have backends of their own
                endpoints, tls = {**before.endpoints, **given.endpoints}, {**before.tls, **given.tls}
                given = replace(given, endpoints=endpoints, tls=tls)
            snapshot = translate(given, action.hosts).snapshot
        return await self._plane.program(action.gateway, snapshot)

    def _absent(self, refused: Mapping[Origin, str]) -> dict[Origin, Any]:
        return {origin: Absent(error, self.accepted.pieces.get(origin)) for origin, error in refused.items()}
