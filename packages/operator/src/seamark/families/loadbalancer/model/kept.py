"""Places that are kept for a namespace for a while after it has given them up. `gives_up` and `effective` are pure."""

from __future__ import annotations

import asyncio

from seamark_edge.claims import Claim, Standing
from seamark_runtime.clock import Clock
from seamark_runtime.holds import Holds
from seamark_runtime.source import Facts, Fresh, Source, Stale
from seamark_runtime.view import View

TERM = "term"  # the one key of `terms`


def gives_up(before: Claim, first: Claim | None) -> bool:
    """Whether the namespace that had a place has lost it, and not to one for which the edge has it."""
    if before.refused or first is None:
        return not before.refused
    return first.namespace != before.namespace and not _by_the_edge(first)


def effective(first: Claim | None, kept: Claim | None) -> Claim | None:
    """The claim that decides about a place: that of the namespace which it is kept for, or the first that there is."""
    return first if kept is None or (first is not None and _by_the_edge(first)) else kept


def _by_the_edge(claim: Claim) -> bool:
    return claim.standing <= Standing.CHOSEN and not claim.refused


class KeptPlaces:
    """The claims of namespaces that have given a place up, each until its hold ends.

    - `advance` is the one transition, called with the first claim on a place by the memory of the collection of places.
      Called again with the same claim at the same time, it changes nothing.
    - A claim that was refused is no claim to keep a place for.
    - What was given up before this term of leadership is not known: until one hold time has passed since its
      beginning, no refused claim gets a place. `term` marks the beginning.
    """

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._seconds = seconds
        self._clock = clock  # for `term` alone
        self._holds = Holds(seconds)
        self._first: dict[str, Claim] = {}  # by place; only places with claims
        self.claims: Facts[str, Claim] = Facts("places that are kept")  # those of `_holds`
        self.terms: Facts[str, bool] = Facts("the first hold time of a term")

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.claims, self.terms

    def advance(self, where: str, first: Claim | None, now: float) -> None:
        """`first` is the first claim on a place now."""
        before = self._first.pop(where, None)
        if first is not None:
            self._first[where] = first
        for ended in self._holds.expired(now):
            self.claims.remove(ended)
        holder = self._holds.holder(where)
        if before is None or holder not in (None, before.namespace) or not gives_up(before, first):
            return
        self.claims.put(where, before, now + self._seconds)
        given_up = self._holds.release(where, before.namespace, now)
        if given_up is not None:
            self.claims.remove(given_up)

    def at(self, view: View, where: str) -> Claim | None:
        """The claim that a place is kept for now."""
        match view.fact(self.claims, where):
            case Fresh(value=claim):
                return claim
        return None

    def starting(self, view: View) -> bool:
        """Whether it is not known yet what was given up before this term."""
        return not isinstance(view.fact(self.terms, TERM), Stale)

    async def term(self) -> None:
        """A companion, for one term of leadership."""
        self.terms.put(TERM, True, self._clock.monotonic() + self._seconds)
        try:
            await asyncio.Event().wait()
        finally:
            self.terms.remove(TERM)
