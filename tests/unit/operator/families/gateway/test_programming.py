"""Programming the data plane: the routes that it refuses are isolated, and all others served."""

from __future__ import annotations

import asyncio

import pytest

from seamark.families.gateway.model.results import RefusedObject, RefusedObjects
from seamark.families.gateway.remote import Remote
from seamark.families.gateway.translation.state import Program, Programmed, Remove, TranslationInput
from seamark_edge.dataplane.memory import MemoryDataPlane
from seamark_edge.dataplane.model import Snapshot
from seamark_edge.dataplane.protocol import Outcome, Rejected
from seamark_runtime.api.meta import Key
from seamark_runtime.clock import SystemClock
from seamark_runtime.errors import Retry
from seamark_runtime.source import Absent, Fresh
from tests.unit.operator.families.gateway.given import GATEWAY, given, origin, route, snapshot_of


def remote_of(plane: MemoryDataPlane) -> Remote:
    return Remote(plane, SystemClock())


async def program(remote: Remote, seen: TranslationInput) -> Programmed:
    snapshot = snapshot_of(seen)
    outcome = await remote.perform(Program(GATEWAY, str(id(snapshot)), seen, snapshot))
    assert isinstance(outcome, Programmed)
    return outcome


def served(plane: MemoryDataPlane) -> list[str]:
    hosts = plane.serving[GATEWAY].tables["http-80"].hosts
    return sorted(entry.origin.name for host in hosts for entry in host.entries)


def test_all_is_well() -> None:
    plane = MemoryDataPlane(listens=True)
    outcome = asyncio.run(program(remote_of(plane), given(route("a"), route("b"))))
    assert outcome == Programmed(1)
    assert served(plane) == ["a", "b"]


@pytest.mark.parametrize("bad", [["c"], ["a"], ["a", "h"], ["a", "b", "c", "d", "e", "f", "g", "h"], ["d", "e"]])
def test_refused_routes_are_found_and_the_others_served(bad: list[str]) -> None:
    plane = MemoryDataPlane(listens=True)
    plane.refuses = {origin(name): f"no {name}" for name in bad}
    outcome = asyncio.run(program(remote_of(plane), given(*(route(name) for name in "abcdefgh"))))
    assert dict(outcome.refused) == {origin(name): f"no {name}" for name in bad}
    assert served(plane) == sorted(set("abcdefgh") - set(bad))


class RefusesPath(MemoryDataPlane):
    """Refuses a path, of whichever route; `tried` is what it was sent."""

    def __init__(self, path: str) -> None:
        super().__init__(listens=True)
        self._path = path
        self.tried: list[list[str]] = []

    async def program(self, gateway: Key, snapshot: Snapshot) -> Outcome:
        entries = [entry for host in snapshot.tables["http-80"].hosts for entry in host.entries]
        self.tried.append(sorted(f"{entry.origin.name} {entry.match.path}" for entry in entries))
        if any(entry.match.path == self._path for entry in entries):
            return Rejected("no")
        return await super().program(gateway, snapshot)


def test_only_what_changed_is_suspected_while_the_rest_is_served() -> None:
    plane = RefusesPath("/new")
    remote = remote_of(plane)

    async def story() -> Programmed:
        await program(remote, given(*(route(name) for name in "abcd")))
        return await program(remote, given(route("a"), route("b", "/new"), route("c"), route("d", "/good")))

    outcome = asyncio.run(story())
    assert dict(outcome.refused) == {origin("b"): "no"}
    assert served(plane) == ["a", "c", "d"]
    trials = plane.tried[2:-1]
    assert all({"a /a", "c /c"} <= set(names) for names in trials), "routes that did not change are served all the time"
    assert trials[0] == ["a /a", "b /b", "c /c", "d /d"], "and those that did, as they were before"
    assert plane.tried[-1] == ["a /a", "c /c", "d /good"]


def test_when_even_what_was_accepted_is_refused_any_route_may_be_the_cause() -> None:
    plane = MemoryDataPlane(listens=True)
    remote = remote_of(plane)

    async def story() -> Programmed:
        await program(remote, given(*(route(name) for name in "abcd")))
        plane.refuses = {origin("c"): "not any more"}
        return await program(remote, given(route("a", "/new"), *(route(name) for name in "bcd")))

    outcome = asyncio.run(story())
    assert dict(outcome.refused) == {origin("c"): "not any more"}
    assert served(plane) == ["a", "b", "d"]


def test_a_refused_route_that_did_not_change_is_not_tried_again() -> None:
    plane = MemoryDataPlane(listens=True)
    plane.refuses = {origin("b"): "no"}
    remote = remote_of(plane)
    refused: list[str] = []
    take = plane.program

    async def watched(gateway: Key, snapshot: Snapshot) -> Outcome:
        outcome = await take(gateway, snapshot)
        if isinstance(outcome, Rejected):
            refused.append(outcome.message)
        return outcome

    async def story() -> list[Programmed]:
        first = await program(remote, given(route("a"), route("b")))
        plane.program = watched  # type: ignore[method-assign]
        again = await program(remote, given(route("a"), route("b")))
        with_more = await program(remote, given(route("a"), route("b"), route("c")))
        plane.refuses = {}
        mended = await program(remote, given(route("a"), route("b", "/mended"), route("c")))
        return [first, again, with_more, mended]

    outcomes = asyncio.run(story())
    assert [dict(outcome.refused) for outcome in outcomes] == [{origin("b"): "no"}] * 3 + [{}]
    assert refused == []
    assert served(plane) == ["a", "b", "c"]


def test_a_refusal_that_no_route_causes_is_the_gateways() -> None:
    class Refusing(MemoryDataPlane):
        async def program(self, gateway: Key, snapshot: Snapshot) -> Outcome:
            return Rejected("the listener can't be bound")

    plane = Refusing()
    outcome = asyncio.run(program(remote_of(plane), given(route("a"))))
    assert outcome == Programmed(0, (), "the listener can't be bound")


def test_a_newer_configuration_takes_the_place_of_an_older_one() -> None:
    plane = MemoryDataPlane(listens=True)
    plane.lag = 0.01
    remote = remote_of(plane)

    async def story() -> None:
        first = asyncio.ensure_future(program(remote, given(route("a"))))
        await asyncio.sleep(0)
        await program(remote, given(route("a"), route("b")))
        with pytest.raises(Retry):
            await first

    asyncio.run(story())
    assert served(plane) == ["a", "b"]


def test_a_gateway_that_is_gone_is_served_no_more() -> None:
    plane = MemoryDataPlane(listens=True)
    remote = remote_of(plane)

    async def story() -> None:
        await program(remote, given(route("a")))
        await remote.perform(Remove(GATEWAY))

    asyncio.run(story())
    assert plane.serving == {}


def test_refused_routes_are_facts_until_they_are_accepted_or_the_gateway_is_gone() -> None:
    plane = MemoryDataPlane(listens=True)
    plane.refuses = {origin("b"): "no"}
    remote = remote_of(plane)
    changed: list[object] = []
    remote.refused.subscribe(lambda _facts, gateway: changed.append(gateway))
    bad = route("b")

    async def story() -> None:
        await program(remote, given(route("a"), bad))
        cause = (bad, (None,), given(bad).gateway)
        assert remote.refused.get(GATEWAY, 0.0) == Fresh(RefusedObjects((RefusedObject(origin("b"), cause, "no"),)))
        await program(remote, given(route("a"), bad))
        assert changed == [GATEWAY]
        await program(remote, given(route("a")))
        assert remote.refused.get(GATEWAY, 0.0) == Absent()
        await program(remote, given(route("a"), bad))
        await remote.perform(Remove(GATEWAY))
        assert remote.refused.get(GATEWAY, 0.0) == Absent()

    asyncio.run(story())


def test_a_response_that_comes_after_the_gateway_is_gone_leaves_nothing_behind() -> None:
    plane = MemoryDataPlane(listens=True)
    plane.refuses = {origin("b"): "no"}
    remote = remote_of(plane)

    async def story() -> None:
        plane.here.clear()
        late = asyncio.ensure_future(program(remote, given(route("a"), route("b"))))
        await asyncio.sleep(0)
        await remote.perform(Remove(GATEWAY))
        plane.here.set()
        with pytest.raises(Retry):
            await late

    asyncio.run(story())
    assert remote.refused.get(GATEWAY, 0.0) == Absent()
