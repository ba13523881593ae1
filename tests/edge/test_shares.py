"""Tenants of a cluster share one API key and one authtoken: expensive policies of one delay no other."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator

from seamark.providers.edge.seamark import seamark_edge
from seamark_edge.agent import Agent, AgentSettings, Tunnel
from seamark_edge.model import EndpointSpec, Owner
from seamark_runtime.errors import Retry
from tests.edge.driving import Start, connected
from tests.edge.running import RunningEdge
from tests.edge.services import dial, echo, eventually, service
from tests.edge.test_heavy_policies import p99

POLICIES = 200  # about 14 ms each: more than the budget of a key
RANGES = ", ".join(f'"2001:db8:{number:x}::/48"' for number in range(990))


def heavy(number: int) -> str:
    """YAML, and many ranges: what takes long to check within the limits."""
    return f"on_tcp_connect: [{{actions: [{{type: restrict-ips, config: {{allow: [{RANGES}]}}}}]}}]  # {number}"


def small(number: int) -> str:
    return f'{{"on_tcp_connect":[{{"expressions":["conn.client_port == {number}"],"actions":[{{"type":"deny"}}]}}]}}'


def owner(namespace: str, number: int) -> Owner:
    return Owner("", namespace, f"ep{number}", f"{namespace}-{number}")


@contextlib.contextmanager
def client_of(url: str, took: list[float]) -> Iterator[None]:
    """A client that connects to this endpoint all the time."""
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            began = time.monotonic()
            with dial(url) as client:
                client.sendall(b"ping")
                assert client.recv(100) == b"ping"
            took.append(time.monotonic() - began)
            time.sleep(0.01)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        eventually(lambda: len(took) >= 100, "latencies without load are known")
        yield
    finally:
        over.set()
        asking.join()


async def opened(edge: RunningEdge) -> tuple[float, list[float], int]:
    """How long tenant-b waits for an endpoint, alone and beside tenant-a; and how many tenant-a has got so far."""
    provider, done = seamark_edge(edge.api_url, edge.api_key), 0

    async def greedy(number: int) -> None:
        nonlocal done
        wanted = EndpointSpec(f"tcp://a{number}.internal:80", heavy(number))
        while True:
            try:
                await provider.open_endpoint(owner("tenant-a", number), wanted)
                break
            except Retry:
                await asyncio.sleep(0.5)
        done += 1

    async def modest(number: int) -> float:
        began = time.monotonic()
        await provider.open_endpoint(
            owner("tenant-b", number), EndpointSpec(f"tcp://b{number}.internal:80", small(number))
        )
        return time.monotonic() - began

    tasks: list[asyncio.Task[None]] = []
    beside: list[float] = []
    try:
        quiet = max([await modest(number) for number in range(3)])
        tasks += [asyncio.create_task(greedy(number)) for number in range(POLICIES)]
        for number in range(10, 18):
            await asyncio.sleep(0.6)
            beside.append(await modest(number))
        return quiet, beside, done
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await provider.close()


def test_one_namespace_does_not_use_up_the_operators_key(own_edge: RunningEdge, agents: Start) -> None:
    canary, took = connected(agents, "seamark", own_edge), list[float]()
    with service(echo) as upstream:
        url = canary.must("forward", url="tcp://", upstream=f"tcp://{upstream}")["url"]
        with client_of(url, took):
            before = p99(took)
            took.clear()
            quiet, beside, done = asyncio.run(opened(own_edge))
    assert max(beside) <= 2 * quiet + 1
    assert 20 < done < POLICIES  # its own share, not more
    assert p99(took) <= before + 0.25


async def held(edge: RunningEdge) -> tuple[str, list[str]]:
    """The first refusal that tenant-a gets, and what tenant-b gets then."""
    agent = Agent(AgentSettings(edge.address, edge.token, edge.ca))
    running = asyncio.create_task(agent.run())
    await asyncio.wait_for(agent.connected.wait(), 5)

    async def hold(namespace: str, number: int, policy: str) -> str:
        url = f"tcp://{namespace}-{number}.internal:80"
        wanted = Tunnel(url, "tcp://127.0.0.1:1", pooling=True, policy=policy, name=owner(namespace, number).key)
        return (await agent.hold(f"{namespace}/{number}", wanted)).error

    refusal, number = "", 0
    while not refusal and number < POLICIES:
        refusal, number = await hold("tenant-a", number, heavy(number)), number + 1
    modest = [await hold("tenant-b", number, small(number)) for number in range(5)]
    agent.stop()
    await running
    return refusal, modest


def test_one_namespace_does_not_use_up_the_agents_token(own_edge: RunningEdge) -> None:
    refusal, modest = asyncio.run(held(own_edge))
    assert modest == [""] * 5
    words = "checks of policies and certificates took more than 2 s of CPU time in a minute"
    assert refusal.splitlines()[0] == words  # no time in it: a status message stays the same
