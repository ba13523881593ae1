"""Our own agent behind the same commands as the official ones, so that the same tests run with it."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import uvloop

from seamark_edge.agent import Agent, AgentSettings, Tunnel
from seamark_edge.wire.memory import keep_buffers
from seamark_runtime import log
from seamark_runtime.errors import SeamarkError


class Program:
    def __init__(self) -> None:
        self.agent: Agent | None = None
        self.running: asyncio.Task[None] | None = None

    async def connect(self, c: dict[str, Any]) -> dict[str, Any]:
        self.agent = Agent(AgentSettings(c["address"], c["token"], c["ca"], heartbeat=1.0, tolerance=5.0))
        self.running = asyncio.create_task(self.agent.run())
        try:
            async with asyncio.timeout(3):
                await self.agent.connected.wait()
        except TimeoutError:
            return {"error": self.agent.error}
        return {}

    async def forward(self, c: dict[str, Any]) -> dict[str, Any]:
        assert self.agent is not None
        wanted = Tunnel(
            c["url"],
            c["upstream"],
            pooling=c.get("pooling", False),
            metadata=c.get("metadata", ""),
            bindings=tuple(c.get("bindings", ())),
            policy=c.get("policy", ""),
            proxy_version=int(c.get("proxyproto") or 0),
            name=c.get("name", ""),
            generation=c.get("generation", 0),
        )
        name = f"tunnel-{len(self.agent.held)}"
        held = await self.agent.hold(name, wanted)
        return {"error": held.error} if held.error else {"url": held.url, "id": name}

    async def close(self, c: dict[str, Any]) -> dict[str, Any]:
        assert self.agent is not None
        await self.agent.release(c["id"])
        return {}


async def main() -> None:
    program = Program()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        command = json.loads(line)
        try:
            answer = await getattr(program, command["op"])(command)
        except SeamarkError as error:
            answer = {"error": error.message}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    log.configure("warning")
    keep_buffers()
    uvloop.run(main())
