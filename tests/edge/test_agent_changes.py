"""A tunnel that changes, again and again, under clients that never stop asking."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from seamark_edge.agent import Agent, AgentSettings, Tunnel
from tests.edge.running import RunningEdge
from tests.edge.services import says, service

CHANGES = 100
CLIENTS = 4
UPSTREAMS = (b"old", b"new")


@pytest.mark.parametrize("replicas", [1, 2])
def test_no_connection_is_turned_away_while_a_pooled_tunnel_changes(edge: RunningEdge, replicas: int) -> None:
    answers: list[bytes | OSError] = []
    over = asyncio.Event()

    async def keep_asking(host: str, port: int) -> None:
        while not over.is_set():
            try:
                reader, writer = await asyncio.open_connection(host, port)
                with contextlib.closing(writer):
                    answers.append(await reader.read())
            except OSError as error:
                answers.append(error)

    async def case(addresses: tuple[str, str]) -> None:
        agents = [Agent(AgentSettings(edge.address, edge.token, edge.ca)) for _ in range(replicas)]
        running = [asyncio.create_task(agent.run()) for agent in agents]
        for agent in agents:
            await agent.connected.wait()

        async def change(number: int) -> None:
            upstream = f"tcp://{addresses[number % 2]}"
            wanted = Tunnel("tcp://", upstream, name=f"changes/{replicas}", pooling=True, generation=number + 1)
            await asyncio.gather(*(agent.hold("web", wanted) for agent in agents))

        await change(0)
        host, _, port = agents[0].held["web"].url.removeprefix("tcp://").partition(":")
        clients = [asyncio.create_task(keep_asking(host, int(port))) for _ in range(CLIENTS)]
        for number in range(1, CHANGES):
            await change(number)
        over.set()
        await asyncio.gather(*clients)
        for agent in agents:
            agent.stop()
        await asyncio.gather(*running)

    with service(says(UPSTREAMS[0])) as old, service(says(UPSTREAMS[1])) as new:
        asyncio.run(case((old, new)))
    assert [answer for answer in answers if answer not in UPSTREAMS] == []
    assert set(answers) == set(UPSTREAMS)
