"""Endpoints that the edge refused are asked for again: those of one namespace hold up no other's."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from seamark_edge.agent import Agent, AgentSettings, Tunnel
from seamark_edge.agent.agent import LOOK_SECONDS
from seamark_edge.agent.link import Link
from seamark_edge.model import Owner
from seamark_edge.wire import tunnel
from seamark_edge.wire.tunnel import StreamType
from tests.virtual_time import elapsed, run


class SlowEdge:
    """Takes a second for each endpoint of tenant-a. Remembers when it was asked for which namespace."""

    def __init__(self) -> None:
        self.called: list[tuple[str, float]] = []

    async def call(self, _kind: StreamType, request: tunnel.Bind, *_: Any) -> tunnel.BindAnswer:
        namespace = request.extra.name.split("/")[1]
        self.called.append((namespace, elapsed()))
        await asyncio.sleep(1 if namespace == "tenant-a" else 0)
        return tunnel.BindAnswer(id=request.extra.name, url="tcp://x.internal:80")


def test_the_endpoints_of_one_namespace_are_asked_for_beside_those_of_another() -> None:
    async def case() -> None:
        agent, edge = Agent(AgentSettings("127.0.0.1:1", "token")), SlowEdge()
        for number, namespace in enumerate(["tenant-a"] * 20 + ["tenant-b"]):
            name = Owner("", namespace, f"ep{number}", f"uid{number}").key
            held = await agent.hold(name, Tunnel("tcp://x.internal:80", "tcp://127.0.0.1:1", pooling=True, name=name))
            held.retry_at = 0.0
        asking = asyncio.create_task(agent._retry_refused(cast("Link", edge)))
        await asyncio.sleep(100)
        asking.cancel()
        assert dict(edge.called[:2]) == {"tenant-a": LOOK_SECONDS, "tenant-b": LOOK_SECONDS}
        assert [at for namespace, at in edge.called if namespace == "tenant-a"] == [LOOK_SECONDS + n for n in range(20)]

    run(case())


class BrokenEdge(SlowEdge):
    """What happens for tenant-bad is an exception that the link does not declare, twice."""

    async def call(self, kind: StreamType, request: tunnel.Bind, *more: Any) -> tunnel.BindAnswer:
        answer = await super().call(kind, request, *more)
        if "tenant-bad" in request.extra.name and [name for name, _ in self.called].count("tenant-bad") <= 2:
            raise ZeroDivisionError("planted")
        return answer


def test_a_tunnel_that_fails_by_a_bug_delays_no_other_and_is_asked_for_again() -> None:
    async def case() -> None:
        agent, edge = Agent(AgentSettings("127.0.0.1:1", "token")), BrokenEdge()
        bad, good = (Owner("", f"tenant-{name}", "ep", name).key for name in ("bad", "good"))
        for name in (bad, good):
            held = await agent.hold(name, Tunnel("tcp://x.internal:80", "tcp://127.0.0.1:1", pooling=True, name=name))
            held.retry_at = 0.0
        asking = asyncio.create_task(agent._retry_refused(cast("Link", edge)))
        await asyncio.sleep(2)
        assert agent.held[good].url
        assert agent.held[bad].error == "ZeroDivisionError: the agent's log says more"
        for _ in range(2):
            assert agent.held[bad].retry_at > 0
            agent.held[bad].retry_at = 0.0  # it is time
            await asyncio.sleep(2)
        assert agent.held[bad].url
        assert not agent.held[bad].error
        asking.cancel()

    run(case())
