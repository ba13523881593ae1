"""What is online at the edge, looked at once for everybody: one poll, a report about each endpoint."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
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
from seamark.families.loadbalancer.edge import Look, Online, Timing, Work
from seamark.families.loadbalancer.said import was_true
from seamark.families.loadbalancer.urls import key_of
from seamark.providers.edge.model import Endpoint, RefusedEndpoint

EDGE = Key("", "edge")  # the one key; reports about it tell whether anybody has looked


@dataclass(frozen=True, slots=True)
class Looked:
    """The edge was looked at. `trouble`: it has not answered for longer than an answer counts."""

    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What the edge tells about one subject: an AgentEndpoint by its uid, or a place, of agents that name nobody."""

    holders: tuple[Endpoint, ...] = ()
    refused: tuple[RefusedEndpoint, ...] = ()


NOTHING = Told()


@dataclass(frozen=True, slots=True)
class Seen:
    results: Results
    timing: Timing


@dataclass(frozen=True, slots=True)
class Scene:
    """What an endpoint's key knows of the edge: nothing yet (None), trouble, or who holds it and who could not."""

    looked: Looked | None
    told: Told = NOTHING

    @property
    def known(self) -> bool:
        return self.looked is not None and not self.looked.trouble


def call(timing: Timing) -> Call[Online]:
    return Call(target="edge", action=Look(), every=timing.soon, shelf_life=timing.shelf_life, timeout=30.0)


def desire(seen: Seen) -> Wanted:
    return Wanted(calls=(call(seen.timing),))


def report(seen: Seen, _answers: Answers) -> Mapping[Hashable, Looked | Told]:
    match seen.results.to(call(seen.timing)):
        case Fresh(value=online):
            return {EDGE: Looked(), **by_subject(online)}
        case Stale():
            return {EDGE: Looked("the edge has not answered for a while")}
        case Failed(message=message):
            return {EDGE: Looked(message)}
    return {}


def by_subject(online: Online) -> dict[Hashable, Told]:
    holders: dict[str, list[Endpoint]] = {}
    refused: dict[str, list[RefusedEndpoint]] = {}
    for endpoint in online.endpoints:
        if endpoint.type == "agent":
            holders.setdefault(uid_in(endpoint.name) or key_of(endpoint.url), []).append(endpoint)
    for refusal in online.refused:
        refused.setdefault(uid_in(refusal.name) or key_of(refusal.url), []).append(refusal)
    subjects = dict.fromkeys((*holders, *refused))
    return {one: Told(tuple(holders.get(one, ())), tuple(refused.get(one, ()))) for one in subjects}


def uid_in(name: str) -> str:
    """The uid of the object that an agent holds an endpoint for: its name there is the key of an `Owner`."""
    parts = name.split("/")
    return parts[3] if len(parts) == 5 else ""


class Sight:
    """The poll, and what keys read of it."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self.reports: Reports[Looked | Told] = Reports("what is online at the edge")
        self._agents = Index(AgentEndpoint, _all, "all agent endpoints")
        self._clouds = Index(CloudEndpoint, _all, "all cloud endpoints")
        self._unsettled = Index(AgentEndpoint, _unsettled, "agent endpoints that nobody is known to hold")

    def of(self, view: View, endpoint: AgentEndpoint) -> Scene:
        looked = view.reports(self.reports, EDGE).get(EDGE)
        by_uid = view.reports(self.reports, endpoint.uid).get(EDGE)
        by_place = view.reports(self.reports, key_of(endpoint.spec.url)).get(EDGE)
        told = next((one for one in (by_uid, by_place) if isinstance(one, Told)), NOTHING)
        return Scene(looked if isinstance(looked, Looked) else None, told)

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
            companions=(self._work.keep_connected,),
        )


def _all(_obj: Object) -> tuple[Key, ...]:
    return (EDGE,)


def _unsettled(endpoint: AgentEndpoint) -> tuple[Key, ...]:
    return () if was_true(endpoint, "Ready") else (EDGE,)
