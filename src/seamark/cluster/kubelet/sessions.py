"""`kubectl exec` and `kubectl attach`: a program of a container, and whoever talks with it over a WebSocket.

The frames are those of v5.channel.k8s.io: the first byte of each is its channel, the rest what goes through it.
A frame on the channel CLOSE names another one that has ended. At the end a Status is sent on the channel ERROR.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import WSMsgType, web

from seamark.cluster.kubelet.container import ContainerLife
from seamark.cluster.kubelet.logs import LogQuery, read

PROTOCOL = "v5.channel.k8s.io"
FEATURE = "ExtendWebSocketsToKubelet"  # by this name a node says that it is spoken to so
STDIN, STDOUT, STDERR, ERROR, CLOSE = 0, 1, 2, 3, 255
PIECE = 32 * 1024
SUCCESS: dict[str, Any] = {"metadata": {}, "status": "Success"}


async def execute(request: web.Request, container: ContainerLife) -> web.StreamResponse:
    """Runs the command that the request names; it ends when whoever asked for it goes."""
    wants_input = request.query.get("input") == "1"
    launch = container.beside(request.query.getall("command", []), stdin=wants_input)
    if launch is None:
        return web.Response(status=400, text="the container does not run\n")
    socket = await _open(request)
    process = await container.open(launch)

    def give(data: bytes) -> None:
        if process.stdin is not None:
            process.stdin.write(data) if data else process.stdin.close()

    hearing = asyncio.ensure_future(_hear(socket, give))
    try:
        speaking = asyncio.ensure_future(_speak(socket, process))
        await asyncio.wait([hearing, speaking], return_when=asyncio.FIRST_COMPLETED)
        if speaking.done():
            await socket.send_bytes(bytes([ERROR]) + msgspec.json.encode(outcome(await process.wait())))
        speaking.cancel()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        hearing.cancel()
        await asyncio.gather(hearing, speaking, return_exceptions=True)
        await socket.close()
    return socket


async def attach(request: web.Request, container: ContainerLife, log: Path) -> web.StreamResponse:
    """What the container says from now on, and, where it takes input, that."""
    socket = await _open(request)
    hearing = asyncio.ensure_future(_hear(socket, container.give))
    try:
        await _say(socket, STDOUT, read(log, LogQuery(follow=True, tail=0), container.over))
        await socket.send_bytes(bytes([ERROR]) + msgspec.json.encode(SUCCESS))
    except ConnectionError:
        pass  # it was left
    finally:
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)
        await socket.close()
    return socket


def outcome(code: int) -> dict[str, Any]:
    """How a command ended, as kubectl is told."""
    if code == 0:
        return SUCCESS
    code = 128 - code if code < 0 else code
    words = f"command terminated with non-zero exit code: exit status {code}"
    cause = {"reason": "ExitCode", "message": str(code)}
    failed = {"metadata": {}, "status": "Failure", "reason": "NonZeroExitCode", "message": words}
    return {**failed, "details": {"causes": [cause]}}


async def _open(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(protocols=(PROTOCOL,), max_msg_size=0)
    await socket.prepare(request)
    return socket


async def _hear(socket: web.WebSocketResponse, give: Callable[[bytes], None]) -> None:
    """Until the other side goes; its input goes where it belongs, an empty piece at its end."""
    async for message in socket:
        if message.type is WSMsgType.BINARY and message.data:
            channel, data = message.data[0], message.data[1:]
            if channel == STDIN and data:
                give(data)
            elif channel == CLOSE and data[:1] == bytes([STDIN]):
                give(b"")


async def _speak(socket: web.WebSocketResponse, process: asyncio.subprocess.Process) -> None:
    """Until it has said everything."""
    await asyncio.gather(_say(socket, STDOUT, _pieces(process.stdout)), _say(socket, STDERR, _pieces(process.stderr)))


async def _say(socket: web.WebSocketResponse, channel: int, pieces: AsyncIterator[bytes]) -> None:
    async for piece in pieces:
        await socket.send_bytes(bytes([channel]) + piece)


async def _pieces(stream: asyncio.StreamReader | None) -> AsyncIterator[bytes]:
    assert stream is not None
    while piece := await stream.read(PIECE):
        yield piece
