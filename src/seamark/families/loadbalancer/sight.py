"""What is online at the edge, looked at once for everybody: one poll, a report about each place."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from seamark.api.meta import Key, Object
from seamark.api.ngrok import AgentEndpoint, CloudEndpoint
from seamark.core.apply import Answers
from seamark.core.cache import Index
from seamark.core.calls import Call, Failed, Results
from seamark.core.controller import Group, Wanted
from seamark.core.source import Fresh, Reports, Stale
from seamark.core.view import View
from seamark.families.loadbalancer.edge import Look, Timing, Work
from seamark.families.loadbalancer.said import was_true
from seamark.families.loadbalancer.urls import key_of
from seamark.providers.edge.model import Endpoint

EDGE = Key("", "edge")  # the one key; reports about it tell whether anybody has looked


@dataclass(frozen=True, slots=True)
class Looked:
    """The edge was looked at. `trouble`: it has not answered for longer than an answer counts."""

    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Online:
    """The endpoints at one place, those of agents and those that the edge keeps."""

    endpoints: tuple[Endpoint, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    results: Results
    timing: Timing


@dataclass(frozen=True, slots=True)
class Scene:
    """What an endpoint's key knows of the edge: nothing yet (None), trouble, or who is online at its place."""

    looked: Looked | None
    endpoints: tuple[Endpoint, ...] = ()

    @property
    def holders(self) -> tuple[Endpoint, ...]:
        return tuple(endpoint for endpoint in self.endpoints if endpoint.type == "agent")


def call(timing: Timing) -> Call[tuple[Endpoint, ...]]:
    return Call(target="edge", action=Look(), every=timing.soon, shelf_life=timing.shelf_life, timeout=30.0)


def desire(seen: Seen) -> Wanted:
    return Wanted(calls=(call(seen.timing),))


def report(seen: Seen, _answers: Answers) -> Mapping[Hashable, Looked | Online]:
    match seen.results.to(call(seen.timing)):
        case Fresh(value=endpoints):
            return {EDGE: Looked(), **by_place(endpoints)}
        case Stale():
            return {EDGE: Looked("the edge has not answered for a while")}
        case Failed(message=message):
            return {EDGE: Looked(message)}
    return {}


def by_place(endpoints: Iterable[Endpoint]) -> dict[Hashable, Online]:
    places: dict[str, list[Endpoint]] = {}
    for endpoint in endpoints:
        places.setdefault(key_of(endpoint.url), []).append(endpoint)
    return {key: Online(tuple(found)) for key, found in places.items()}


class Sight:
    """The poll, and what keys read of it."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self.reports: Reports[Looked | Online] = Reports("what is online at the edge")
        self._agents = Index(AgentEndpoint, _all, "all agent endpoints")
        self._clouds = Index(CloudEndpoint, _all, "all cloud endpoints")
        self._unsettled = Index(AgentEndpoint, _unsettled, "agent endpoints that nobody is known to hold")

    def at(self, view: View, place: str) -> Scene:
        looked = view.reports(self.reports, EDGE).get(EDGE)
        online = view.reports(self.reports, place).get(EDGE)
        return Scene(
            looked if isinstance(looked, Looked) else None, online.endpoints if isinstance(online, Online) else ()
        )

    def _observe(self, view: View, _key: Key, results: Results) -> Seen | None:
        anybody = bool(view.by(self._agents, EDGE)) or bool(view.by(self._clouds, EDGE))
        self._work.hurried = bool(view.by(self._unsettled, EDGE))
        return Seen(results, self._work.timing) if anybody else None

    def group(self) -> Group[Any]:
        return Group(
            name="edge",
            keyed={AgentEndpoint: _all, CloudEndpoint: _all},
            indexes=(self._agents, self._clouds, self._unsettled),
            observe=self._observe,
            desire=desire,
            report=report,
            reports=self.reports,
            perform=self._work.perform,
            spacing=self._work.timing.spacing,
        )


def _all(_obj: Object) -> tuple[Key, ...]:
    return (EDGE,)


def _unsettled(endpoint: AgentEndpoint) -> tuple[Key, ...]:
    return () if was_true(endpoint, "Ready") else (EDGE,)
