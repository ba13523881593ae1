"""Attacks with an agent's token: every field of every message, frames that break the rules, and too much of it all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from random import Random
from typing import Any

from seamark_edge.edge.binds import UNSUPPORTED
from seamark_edge.wire.muxado import WINDOW, data_header, goaway_frame, rst_frame, wndinc_frame
from seamark_edge.wire.muxado.frames import SYN
from seamark_edge.wire.tunnel import StreamType
from tests.edge.running import RunningEdge
from tests.hostile.edge.cases import Case, Outcome
from tests.hostile.edge.corpus import CANARY, policy, values, within
from tests.hostile.edge.raw import Gone, RawAgent

PORT = "agents"
AUTH_EXTRA = (
    *("Authtoken", "AuthToken", "Version", "ClientType", "UserAgent", "OS", "Arch", "Metadata", "Cookie", "Window"),
    *("HeartbeatInterval", "HeartbeatTolerance", "StopUnsupportedError", "RestartUnsupportedError"),
)
BIND_OPTIONS = (
    *("URL", "Addr", "Domain", "Hostname", "Subdomain", "TrafficPolicy", "Policy", "IPRestriction", "ProxyProto"),
    *("TLSTermination", "Unknown", *UNSUPPORTED[:3]),
)
BIND_EXTRA = ("Name", "Token", "Metadata", "Description", "Bindings", "PoolingEnabled", "Generation")
FIELDS = {
    StreamType.AUTH: ("Version", "ClientId", "Extra", *(f"Extra.{name}" for name in AUTH_EXTRA)),
    StreamType.BIND: (
        *("Id", "Proto", "ForwardsTo", "ForwardsProto", "Opts", "Extra"),
        *(f"Opts.{name}" for name in BIND_OPTIONS),
        *(f"Extra.{name}" for name in BIND_EXTRA),
    ),
    StreamType.UNBIND: ("Id",),
    StreamType.START_WITH_LABELS: ("Labels", "Labels.app", "ForwardsTo", "ForwardsProto", "Metadata"),
    StreamType.SERVER_INFO: ("Nothing",),
}
BASES: dict[int, dict[str, object]] = {
    StreamType.AUTH: {"Version": ["3"], "ClientId": "", "Extra": {}},
    StreamType.BIND: {
        "Id": "",
        "Proto": "tcp",
        "Opts": {"URL": "tcp://attacker.internal:7"},
        "Extra": {"PoolingEnabled": True},
    },
    StreamType.UNBIND: {"Id": ""},
    StreamType.START_WITH_LABELS: {"Labels": {"app": "attacker"}},
    StreamType.SERVER_INFO: {},
}


class Attackers:
    """Sessions with one token, each used by one case at a time; one that the edge ended is made anew."""

    def __init__(self, edge: RunningEdge, token: str) -> None:
        self.edge = edge
        self.token = token
        self._idle: list[RawAgent] = []
        self.clients = 0  # connections that the edge sent to sessions that hold nothing that was asked for

    async def with_one(self, work: Callable[[RawAgent], Awaitable[Outcome]]) -> Outcome:
        agent = self._idle.pop() if self._idle else await self._new()
        try:
            outcome = await work(agent)
        except Gone:
            self.clients += agent.clients
            await agent.close()
            return Outcome.REFUSED
        except BaseException:
            await agent.close()
            raise
        self._idle.append(agent)
        return outcome

    async def close(self) -> None:
        for agent in self._idle:
            self.clients += agent.clients
            await agent.close()
        self._idle.clear()

    async def _new(self) -> RawAgent:
        agent = RawAgent(self.edge, self.token)
        await agent.connect()
        await agent.authenticate(ClientType="seamark-agent")
        return agent


def message_cases(attackers: Attackers) -> Iterator[Case]:
    for kind, fields in FIELDS.items():
        for path in fields:
            for name, value in values():
                body = within(path, value, BASES[kind])
                yield Case(PORT, f"{kind.name} {path} {name}", _asking(attackers, kind, body))


def _asking(attackers: Attackers, kind: StreamType, body: bytes) -> Callable[[], Awaitable[Outcome]]:
    async def ask(agent: RawAgent) -> Outcome:
        answer = await agent.ask(kind, body)
        outcome = judged(answer)
        if answer is not None and outcome is Outcome.SERVED and kind in (StreamType.BIND, StreamType.START_WITH_LABELS):
            url = str(answer.get("URL", ""))
            await agent.ask(StreamType.UNBIND, json.dumps({"Id": answer.get("Id", "")}).encode())
            if CANARY in url:
                return Outcome.CROSSED
            if url.endswith(":0"):
                return Outcome.SILENT  # online at an unreachable place
        return outcome

    async def authenticate() -> Outcome:
        async with RawAgent(attackers.edge, attackers.token) as agent:
            return judged(await agent.ask(kind, body))

    return authenticate if kind is StreamType.AUTH else lambda: attackers.with_one(ask)


def judged(answer: dict[str, Any] | None) -> Outcome:
    error = "reset" if answer is None else str(answer.get("Error") or "")
    if "internal error" in error:
        return Outcome.CRASHED
    return Outcome.REFUSED if error else Outcome.SERVED


def frame_cases(attackers: Attackers, random: Random, number: int) -> Iterator[Case]:
    broken = {
        "http": b"GET / HTTP/1.1\r\n\r\n",
        "parity": data_header(2, 4, SYN) + b"\0\0\0\1",
        "never opened": data_header(9999, 4) + b"data",
        "zero window": wndinc_frame(1, 0),
        "window beyond": data_header(1, 4, SYN) + b"\0\0\0\1" + wndinc_frame(1, 0x7FFFFFFF) * 4,
        "over the window": data_header(1, 0xFFFFFF, SYN) + b"\0" * (WINDOW * 2),
        "too many streams": b"".join(data_header(2 * n + 1, 4, SYN) + b"\0\0\0\1" for n in range(3000)),
        "reset of nothing": rst_frame(77, 5),
        "goaway": goaway_frame(0, 0, b"x" * 1000),
        "goaway too long": b"\x00\xff\xff\x30\x00\x00\x00\x00",
        "top bit": data_header(0xFFFFFFFF, 4, SYN),
        "unknown type": b"\x00\x00\x04\x70\x00\x00\x00\x01abcd",
        "stream twice": (data_header(1, 4, SYN) + b"\0\0\0\1") * 2,
        **{f"unknown request {kind}": data_header(1, 4, SYN) + kind.to_bytes(4, "big") for kind in (3, 4, 9, 99)},
        "heartbeat flood": data_header(1, 4, SYN) + b"\xff" * 4 + (data_header(1, 4) + b"beat") * 5000,
        **{f"noise {n}": random.randbytes(random.randrange(1, 3000)) for n in range(number)},
    }
    for name, frames in broken.items():
        for known in (False, True):
            yield Case(
                PORT, f"frames {name}{' with a token' if known else ''}", _sending(attackers, frames, known=known)
            )


def _sending(attackers: Attackers, frames: bytes, *, known: bool) -> Callable[[], Awaitable[Outcome]]:
    """Frames, then a request: it is answered, or the session ends."""

    async def send() -> Outcome:
        async with RawAgent(attackers.edge, attackers.token) as agent:
            if known:
                await agent.authenticate()
            await agent.send(frames)
            try:
                return judged(await agent.ask(StreamType.SERVER_INFO, b"{}"))
            except (Gone, TimeoutError):
                await agent.ended()
                return Outcome.REFUSED

    return send


def excess_cases(attackers: Attackers, scale: int) -> Iterator[Case]:
    async def endpoints() -> Outcome:
        async with RawAgent(attackers.edge, attackers.token) as agent:
            await agent.authenticate()
            for number in range(100 * scale):
                answer = await agent.ask(StreamType.START_WITH_LABELS, _labels(f"many-{number}"))
                if judged(answer) is not Outcome.SERVED:
                    return judged(answer)
        return Outcome.SERVED

    async def sessions() -> Outcome:
        agents = [RawAgent(attackers.edge, attackers.token) for _ in range(20 * scale)]
        try:
            for agent in agents:
                await agent.connect()
                await agent.authenticate()
        except OSError:
            return Outcome.REFUSED
        finally:
            for agent in agents:
                await agent.close()
        return Outcome.SERVED

    async def unfinished() -> Outcome:
        async with RawAgent(attackers.edge, attackers.token) as agent:
            await agent.authenticate()
            body = b"\0\0\0\1" + b'{"Opts":{"x":"' + b"x" * 200_000
            for number in range(1, 60, 2):
                await agent.send(data_header(1000 + number, len(body), SYN) + body)
            return judged(await agent.ask(StreamType.SERVER_INFO, b"{}"))

    yield Case(PORT, "thousands of endpoints", endpoints)
    yield Case(PORT, "hundreds of sessions", sessions)
    yield Case(PORT, "unfinished requests", unfinished)
    yield Case("tcp", "pools that forward to pools", lambda: _pools(attackers))


async def _pools(attackers: Attackers) -> Outcome:
    """A connection to a place behind four pools of 24: it is brought to the agent, in no time."""
    async with RawAgent(attackers.edge, attackers.token) as agent:
        await agent.authenticate()
        for level in range(4):
            for _ in range(24):
                await _bind(agent, f"tcp://p{level}.internal:1", f"tcp://p{level + 1}.internal:1" if level < 3 else "")
        answer = await _bind(agent, "", "tcp://p0.internal:1")
        if answer is None or judged(answer) is not Outcome.SERVED:
            return judged(answer)
        host, _, port = str(answer["URL"]).partition("://")[2].rpartition(":")
        began = asyncio.get_running_loop().time()
        _, writer = await asyncio.open_connection(host, int(port))
        while not agent.clients and asyncio.get_running_loop().time() - began < 5:
            await asyncio.sleep(0.01)
        writer.transport.abort()
        return Outcome.SERVED if agent.clients == 1 else Outcome.SILENT


async def _bind(agent: RawAgent, url: str, forward: str) -> dict[str, Any] | None:
    action = {"type": "forward-internal", "config": {"url": forward}}
    opts = {"URL": url, **({"TrafficPolicy": policy(action=json.dumps(action))} if forward else {})}
    body = {"Proto": "tcp", "Opts": opts, "Extra": {"PoolingEnabled": True}}
    return await agent.ask(StreamType.BIND, json.dumps(body).encode())


def _labels(name: str) -> bytes:
    return json.dumps({"Labels": {"app": name}}).encode()
