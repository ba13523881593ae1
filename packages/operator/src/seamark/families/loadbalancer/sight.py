"""What is online at the edge: one poll for all, an entry about each endpoint."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from seamark.families.loadbalancer.edge import Look, Online, Timing, Work
from seamark.families.loadbalancer.said import was_true
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint
from seamark_edge.model import Endpoint, PolicyRefusal, RefusedEndpoint
from seamark_edge.urls import key_of
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.apply import Answers
from seamark_runtime.cache import Index
from seamark_runtime.calls import Call, Failed, Results
from seamark_runtime.controller import CollectionController, Wanted
from seamark_runtime.source import Collection, Fresh, Stale
from seamark_runtime.view import View

EDGE = Key("", "edge")  # the one key; reports about it tell whether anybody has looked


@dataclass(frozen=True, slots=True)
class Looked:
    """The edge was looked at. `trouble`: it has not answered for longer than an answer counts."""

    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What the edge reports about one subject: an AgentEndpoint by its uid, or a place, of agents without an owner."""

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
        self.reports: Collection[Looked | Told] = Collection("what is online at the edge")
        self._agents = Index(AgentEndpoint, _all, "all agent endpoints")
        self._clouds = Index(CloudEndpoint, _all, "all cloud endpoints")
        self._unsettled = Index(AgentEndpoint, _unsettled, "agent endpoints that nobody is known to hold")

    @property
    def policy_refusal(self) -> PolicyRefusal:
        return self._work.policy_refusal

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

    def group(self) -> CollectionController[Any]:
        return CollectionController(
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
