"""Attacks with a valid token or key, each within the documented limits: as much work for the edge as they allow."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterator
from urllib.parse import quote

from seamark_edge.wire.tunnel import StreamType
from tests.hostile.edge.agents import Attackers, judged
from tests.hostile.edge.callers import Callers
from tests.hostile.edge.callers import judged as answered
from tests.hostile.edge.cases import Case, Outcome
from tests.hostile.edge.raw import RawAgent

NUMBERS = "[1,2,3,4,5,6,7,8,9]"
COSTLY = f"{NUMBERS}.exists(a,{NUMBERS}.exists(b,{NUMBERS}.exists(c,a+b+c>100)))"  # just below 10,000 steps
HOPS = 4
BINDS_AT_ONCE, UNBINDS_AT_ONCE = 500, 80


def work_cases(attackers: Attackers, callers: Callers, scale: int) -> Iterator[Case]:
    """`scale` is 1 for a part of it that takes seconds, 8 for all of it."""

    async def agent(attack: Callable[[RawAgent], Awaitable[Outcome]]) -> Outcome:
        async with RawAgent(attackers.edge, attackers.token) as one:
            await one.authenticate(ClientType="seamark-agent")
            return await attack(one)

    yield Case("tcp", "costly policies", lambda: agent(lambda one: costly_policies(one, 4 * scale, 120 * scale)))
    yield Case("agents", "binds of names", lambda: agent(lambda one: names(one, 500 * scale)))
    yield Case("agents", "binds and unbinds", lambda: agent(lambda one: binds_and_unbinds(one, 250 * scale)))
    yield Case("api", "costly filters", lambda: agent(lambda one: costly_filters(one, callers, 190 * scale)))


async def costly_policies(agent: RawAgent, endpoints: int, connections: int) -> Outcome:
    """Connections to endpoints whose policies, with those of the four that they forward to, take about 10 ms each."""
    ports = []
    for number in range(endpoints):
        following = ""
        for hop in range(HOPS):
            place = f"tcp://costly{number}-{hop}.internal:1"
            answer = await bind(agent, {"URL": place, "TrafficPolicy": costly(following)})
            following = place
        answer = await bind(agent, {"TrafficPolicy": costly(following)})
        ports.append(int(str(answer.get("URL")).rpartition(":")[2]))
    await asyncio.gather(*(_connection(ports[number % len(ports)]) for number in range(connections)))
    return Outcome.SERVED


def costly(forward: str) -> str:
    rules: list[dict[str, object]] = [{"expressions": [COSTLY], "actions": [{"type": "deny"}]}]
    if forward:
        rules.append({"actions": [{"type": "forward-internal", "config": {"url": forward}}]})
    return json.dumps({"on_tcp_connect": rules})


async def _connection(port: int) -> None:
    """Held for a while, or until the edge closes it."""
    with contextlib.suppress(OSError, TimeoutError):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            async with asyncio.timeout(4):
                await reader.read(1)
        finally:
            writer.transport.abort()
            await asyncio.sleep(0)


async def names(agent: RawAgent, count: int) -> Outcome:
    """So many host names, as many at once as an agent may ask for, with as much metadata as they may have."""

    async def one(number: int) -> None:
        await bind(agent, {"Hostname": f"excess{number}.edge.localhost"}, "http", Metadata="m" * 4000)

    await _at_once(BINDS_AT_ONCE, count, one)
    return Outcome.SERVED


async def binds_and_unbinds(agent: RawAgent, count: int) -> Outcome:
    async def one(_: int) -> None:
        answer = await bind(agent, {})
        await agent.ask(StreamType.UNBIND, json.dumps({"Id": answer.get("Id", "")}).encode())

    await _at_once(UNBINDS_AT_ONCE, count, one)
    return Outcome.SERVED


async def costly_filters(agent: RawAgent, callers: Callers, endpoints: int) -> Outcome:
    """A list with a costly filter over so many endpoints: three requests one after another, and ten at once."""

    async def one(number: int) -> None:
        await bind(agent, {"Hostname": f"listed{number}.edge.localhost"}, "http")

    async def ask() -> Outcome:  # 503 if it takes longer than a request may
        return answered(*await callers.ask("GET", f"/endpoints?limit=100&filter={quote(COSTLY)}"))

    await _at_once(20, endpoints, one)
    found = [await ask() for _ in range(3)] + await asyncio.gather(*(ask() for _ in range(10)))
    return next((outcome for outcome in found if outcome is not Outcome.REFUSED), Outcome.REFUSED)


async def bind(agent: RawAgent, opts: dict[str, object], proto: str = "tcp", **extra: object) -> dict[str, object]:
    body = {"Proto": proto, "Opts": opts, "Extra": extra}
    answer = await agent.ask(StreamType.BIND, json.dumps(body).encode())
    assert answer is not None
    assert judged(answer) is Outcome.SERVED, answer
    return answer


async def _at_once(most: int, count: int, work: Callable[[int], Awaitable[None]]) -> None:
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await work(number)

    async with asyncio.TaskGroup() as group:
        for _ in range(most):
            group.create_task(worker())
