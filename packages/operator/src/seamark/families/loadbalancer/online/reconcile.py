"""The poll of the edge → an entry about each AgentEndpoint that agents hold, or could not get."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from seamark.families.loadbalancer.model.entries import EDGE, Agents, Poll
from seamark.families.loadbalancer.model.options import Intervals
from seamark.families.loadbalancer.online.state import Look, Online, Seen
from seamark_edge.model import Endpoint, RefusedEndpoint
from seamark_edge.urls import key_of
from seamark_runtime.api.meta import Key
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Call, Failed
from seamark_runtime.controller import Wanted
from seamark_runtime.source import Fresh, Stale


def call(timing: Intervals) -> Call[Online]:
    return Call(target="edge", action=Look(), every=timing.soon, shelf_life=timing.shelf_life, timeout=30.0)


def desire(seen: Seen) -> Wanted:
    return Wanted(calls=(call(seen.timing),))


def report_poll(seen: Seen, _answers: Answers) -> Mapping[Key, Poll]:
    match seen.results.to(call(seen.timing)):
        case Fresh():
            return {EDGE: Poll()}
        case Stale():
            return {EDGE: Poll(answered=False)}
        case Failed(message=message):
            return {EDGE: Poll(answered=False, error=message)}
    return {}


def report_by_uid(seen: Seen, _answers: Answers) -> Mapping[str, Agents]:
    """By the uid of the AgentEndpoint that agents name."""
    return _grouped(_online(seen), lambda name, _url: uid_in(name))


def report_by_place(seen: Seen, _answers: Answers) -> Mapping[str, Agents]:
    """By place, of agents that name no AgentEndpoint."""
    return _grouped(_online(seen), lambda name, url: "" if uid_in(name) else key_of(url))


def uid_in(name: str) -> str:
    """The uid of the object that an agent holds an endpoint for: its name there is the key of an `Owner`."""
    parts = name.split("/")
    return parts[3] if len(parts) == 5 else ""


def _online(seen: Seen) -> Online:
    match seen.results.to(call(seen.timing)):
        case Fresh(value=online):
            return online
    return Online()


def _grouped(online: Online, subject_of: Callable[[str, str], str]) -> dict[str, Agents]:
    """By subject; "" is none."""
    held: dict[str, list[Endpoint]] = {}
    refused: dict[str, list[RefusedEndpoint]] = {}
    for endpoint in online.endpoints:
        if endpoint.type == "agent" and (subject := subject_of(endpoint.name, endpoint.url)):
            held.setdefault(subject, []).append(endpoint)
    for refusal in online.refused:
        if subject := subject_of(refusal.name, refusal.url):
            refused.setdefault(subject, []).append(refusal)
    subjects = dict.fromkeys((*held, *refused))
    return {subject: Agents(tuple(held.get(subject, ())), tuple(refused.get(subject, ()))) for subject in subjects}
