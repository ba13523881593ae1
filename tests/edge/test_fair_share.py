"""What one authtoken or API key may ask for within its limits holds up no client of others (docs/guides/edge.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import pytest

from tests.edge.driving import Start, connected
from tests.edge.running import RunningEdge
from tests.edge.services import echo, service
from tests.hostile.edge import excess
from tests.hostile.edge.callers import Callers
from tests.hostile.edge.cases import Outcome
from tests.hostile.edge.raw import RawAgent
from tests.hostile.edge.run import Scene, scene

LONGEST_BLOCK = 0.05  # seconds of the edge's own work: what the machine does meanwhile is not counted
BUSY_MACHINE_MS = 2_000.0  # `make hostile ARGS=--edge` holds it to 250, on a machine of its own
Attack = Callable[[RawAgent, Callers], Awaitable[Outcome]]


@pytest.fixture
def stage() -> Iterator[Scene]:
    with scene() as found:
        yield found


async def attack(stage: Scene, work: Attack) -> Outcome:
    callers = Callers(stage.edge)
    try:
        async with RawAgent(stage.edge, stage.token()) as agent:
            await agent.authenticate(ClientType="seamark-agent")
            return await work(agent, callers)
    finally:
        await callers.close()


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (lambda agent, _: excess.costly_policies(agent, 16, 480), Outcome.SERVED),
        (lambda agent, _: excess.names(agent, 1500), Outcome.SERVED),
        (lambda agent, _: excess.binds_and_unbinds(agent, 800), Outcome.SERVED),
        (lambda agent, callers: excess.costly_filters(agent, callers, 500), Outcome.REFUSED),
    ],
    ids=["costly policies", "binds", "binds and unbinds", "costly filters"],
)
def test_as_much_work_as_the_limits_allow_delays_no_client_of_others(
    stage: Scene, work: Attack, expected: Outcome
) -> None:
    quiet = stage.period()
    assert asyncio.run(attack(stage, work)) is expected
    period = stage.period()
    assert period["failures"] == []
    assert max(period["p99_ms"], period["health_p99_ms"]) < BUSY_MACHINE_MS, (period, quiet)
    assert stage.metric("seamark_loop_longest_block_seconds") < LONGEST_BLOCK


def test_what_clients_send_while_the_policies_wait_reaches_the_service(edge: RunningEdge, agents: Start) -> None:
    agent = connected(agents, "seamark", edge)
    sent = bytes(range(256)) * 800
    with service(echo) as upstream:
        url = agent.must("forward", url="tcp://", upstream=f"tcp://{upstream}", policy=excess.costly(""))["url"]
        host, _, port = url.partition("://")[2].rpartition(":")

        async def client() -> bytes:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(sent)
            try:
                return await reader.readexactly(len(sent))
            finally:
                writer.close()

        async def crowd() -> list[bytes]:
            return await asyncio.gather(*(client() for _ in range(100)))

        assert all(received == sent for received in asyncio.run(crowd()))
