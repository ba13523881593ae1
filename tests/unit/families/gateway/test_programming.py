"""Whose fault it is when the data plane refuses."""

from __future__ import annotations

import asyncio

import pytest

from seamark.families.gateway.programming import Program, Programmed, Programmer, Remove
from seamark.families.gateway.shapes import (
    Attached,
    Backend,
    Door,
    GatewayView,
    ListenerId,
    ListenerView,
    Lock,
    RouteView,
    Rule,
)
from seamark.families.gateway.translate import Memory, Picture, translate
from seamark_edge.dataplane.memory import MemoryDataPlane
from seamark_edge.dataplane.model import Entry, Forward, Match, Origin, Snapshot, Target
from seamark_edge.dataplane.protocol import Outcome, Rejected
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.errors import Retry

GATEWAY = Key("default", "gateway")
LISTENER = ListenerId("Gateway", GATEWAY, "http")
GOOD = Condition(type="Accepted", status="True", reason="Accepted", message="", last_transition_time="")


def origin(name: str) -> Origin:
    return Origin("HTTPRoute", "default", name)


def route(name: str, path: str = "") -> Attached:
    backend = Backend(Key("default", "web"), 80, "", "http1")
    entry = Entry(Match(path or f"/{name}"), Forward((Target(backend.cluster),)), origin(name))
    rule = Rule("", (entry,), ((2, -len(name), True, 0, 0),))
    view = RouteView(origin(name), ("2026-01-01T00:00:00Z", name), (), (rule,), ((backend.cluster, backend),))
    return Attached(view, ((LISTENER, ("",)),))


def picture(*routes: Attached) -> Picture:
    door = Door(LISTENER, 80, "HTTP", "", ("HTTPRoute",), "Same", None, passthrough=False)
    listener = ListenerView(door, Lock(), (), ())
    view = GatewayView(GATEWAY, (listener,), GOOD, None, (), ("127.0.0.1",))
    return Picture(view, routes, {})


async def program(programmer: Programmer, seen: Picture) -> Programmed:
    snapshot = translate(seen, Memory())
    outcome = await programmer.perform(Program(GATEWAY, str(id(snapshot)), seen, snapshot))
    assert outcome is not None
    return outcome


def served(plane: MemoryDataPlane) -> list[str]:
    hosts = plane.serving[GATEWAY].tables["http-80"].hosts
    return sorted(entry.origin.name for host in hosts for entry in host.entries)


def test_all_is_well() -> None:
    plane = MemoryDataPlane()
    outcome = asyncio.run(program(Programmer(plane), picture(route("a"), route("b"))))
    assert outcome == Programmed(1)
    assert served(plane) == ["a", "b"]


@pytest.mark.parametrize("bad", [["c"], ["a"], ["a", "h"], ["a", "b", "c", "d", "e", "f", "g", "h"], ["d", "e"]])
def test_the_guilty_are_found_and_the_others_served(bad: list[str]) -> None:
    plane = MemoryDataPlane()
    plane.refuses = {origin(name): f"no {name}" for name in bad}
    outcome = asyncio.run(program(Programmer(plane), picture(*(route(name) for name in "abcdefgh"))))
    assert dict(outcome.guilty) == {origin(name): f"no {name}" for name in bad}
    assert served(plane) == sorted(set("abcdefgh") - set(bad))


class Picky(MemoryDataPlane):
    """Refuses a path, whoever has it; `tried` is what it was shown."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self.tried: list[list[str]] = []

    async def program(self, gateway: Key, snapshot: Snapshot) -> Outcome:
        entries = [entry for host in snapshot.tables["http-80"].hosts for entry in host.entries]
        self.tried.append(sorted(f"{entry.origin.name} {entry.match.path}" for entry in entries))
        if any(entry.match.path == self._path for entry in entries):
            return Rejected("no")
        return await super().program(gateway, snapshot)


def test_only_what_changed_is_suspected_while_the_rest_is_served() -> None:
    plane = Picky("/new")
    programmer = Programmer(plane)

    async def story() -> Programmed:
        await program(programmer, picture(*(route(name) for name in "abcd")))
        return await program(programmer, picture(route("a"), route("b", "/new"), route("c"), route("d", "/good")))

    outcome = asyncio.run(story())
    assert dict(outcome.guilty) == {origin("b"): "no"}
    assert served(plane) == ["a", "c", "d"]
    trials = plane.tried[2:-1]
    assert all({"a /a", "c /c"} <= set(names) for names in trials), "who did not change is served all the time"
    assert trials[0] == ["a /a", "b /b", "c /c", "d /d"], "and who did, as it was before"
    assert plane.tried[-1] == ["a /a", "c /c", "d /good"]


def test_when_even_what_was_good_is_refused_anybody_may_be_guilty() -> None:
    plane = MemoryDataPlane()
    programmer = Programmer(plane)

    async def story() -> Programmed:
        await program(programmer, picture(*(route(name) for name in "abcd")))
        plane.refuses = {origin("c"): "not any more"}
        return await program(programmer, picture(route("a", "/new"), *(route(name) for name in "bcd")))

    outcome = asyncio.run(story())
    assert dict(outcome.guilty) == {origin("c"): "not any more"}
    assert served(plane) == ["a", "b", "d"]


def test_who_was_refused_and_did_not_change_is_not_tried_again() -> None:
    plane = MemoryDataPlane()
    plane.refuses = {origin("b"): "no"}
    programmer = Programmer(plane)
    refused: list[str] = []
    take = plane.program

    async def watched(gateway: Key, snapshot: Snapshot) -> Outcome:
        outcome = await take(gateway, snapshot)
        if isinstance(outcome, Rejected):
            refused.append(outcome.message)
        return outcome

    async def story() -> list[Programmed]:
        first = await program(programmer, picture(route("a"), route("b")))
        plane.program = watched  # type: ignore[method-assign]
        again = await program(programmer, picture(route("a"), route("b")))
        with_more = await program(programmer, picture(route("a"), route("b"), route("c")))
        plane.refuses = {}
        mended = await program(programmer, picture(route("a"), route("b", "/mended"), route("c")))
        return [first, again, with_more, mended]

    outcomes = asyncio.run(story())
    assert [dict(one.guilty) for one in outcomes] == [{origin("b"): "no"}] * 3 + [{}]
    assert refused == []
    assert served(plane) == ["a", "b", "c"]


def test_a_refusal_that_no_route_is_guilty_of_is_the_gateways() -> None:
    class Stubborn(MemoryDataPlane):
        async def program(self, gateway: Key, snapshot: Snapshot) -> Outcome:
            return Rejected("the listener can't be bound")

    plane = Stubborn()
    outcome = asyncio.run(program(Programmer(plane), picture(route("a"))))
    assert outcome == Programmed(0, (), "the listener can't be bound")


def test_a_newer_configuration_takes_the_place_of_an_older_one() -> None:
    plane = MemoryDataPlane()
    plane.lag = 0.01
    programmer = Programmer(plane)

    async def story() -> None:
        first = asyncio.ensure_future(program(programmer, picture(route("a"))))
        await asyncio.sleep(0)
        await program(programmer, picture(route("a"), route("b")))
        with pytest.raises(Retry):
            await first

    asyncio.run(story())
    assert served(plane) == ["a", "b"]


def test_a_gateway_that_is_gone_is_served_no_more() -> None:
    plane = MemoryDataPlane()
    programmer = Programmer(plane)

    async def story() -> None:
        await program(programmer, picture(route("a")))
        await programmer.perform(Remove(GATEWAY))

    asyncio.run(story())
    assert plane.serving == {}
    assert programmer.records == {}
