"""`kubectl exec` and `kubectl attach`: a program of a container, connected to a client over a WebSocket.

The frames are those of v5.channel.k8s.io: the first byte of each is its channel, the rest its data. A frame on the
channel CLOSE names another one that has ended. At the end a Status is sent on the channel ERROR.
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

from seamark_cluster.kubelet.container import ContainerWorker
from seamark_cluster.kubelet.logs import LogQuery, read

PROTOCOL = "v5.channel.k8s.io"
FEATURE = "ExtendWebSocketsToKubelet"  # the subprotocol that the node selects
STDIN, STDOUT, STDERR, ERROR, CLOSE = 0, 1, 2, 3, 255
PIECE = 32 * 1024
SUCCESS: dict[str, Any] = {"metadata": {}, "status": "Success"}


async def execute(request: web.Request, container: ContainerWorker) -> web.StreamResponse:
    """Runs the command in the request; it ends when the client disconnects."""
    wants_input = request.query.get("input") == "1"
    launch = container.beside(request.query.getall("command", []), stdin=wants_input)
    if launch is None:
        return web.Response(status=400, text="the container does not run\n")
    socket = await _open(request)
    process = await container.open(launch)

    def give(data: bytes) -> None:
        if process.stdin is not None:
            process.stdin.write(data) if data else process.stdin.close()

    input_task = asyncio.ensure_future(_forward_input(socket, give))
    try:
        output_task = asyncio.ensure_future(_forward_output(socket, process))
        await asyncio.wait([input_task, output_task], return_when=asyncio.FIRST_COMPLETED)
        if output_task.done():
            await socket.send_bytes(bytes([ERROR]) + msgspec.json.encode(outcome(await process.wait())))
        output_task.cancel()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        input_task.cancel()
        await asyncio.gather(input_task, output_task, return_exceptions=True)
        await socket.close()
    return socket


async def attach(request: web.Request, container: ContainerWorker, log: Path) -> web.StreamResponse:
    """The container's output from now on, and input for it where it accepts any."""
    socket = await _open(request)
    input_task = asyncio.ensure_future(_forward_input(socket, container.give))
    try:
        await _send(socket, STDOUT, read(log, LogQuery(follow=True, tail=0), container.over))
        await socket.send_bytes(bytes([ERROR]) + msgspec.json.encode(SUCCESS))
    except ConnectionError:
        pass  # the client disconnected
    finally:
        input_task.cancel()
        await asyncio.gather(input_task, return_exceptions=True)
        await socket.close()
    return socket


def outcome(code: int) -> dict[str, Any]:
    """How a command ended, as a Status for kubectl."""
    if code == 0:
        return SUCCESS
    code = 128 - code if code < 0 else code
    message = f"command terminated with non-zero exit code: exit status {code}"
    cause = {"reason": "ExitCode", "message": str(code)}
    failed = {"metadata": {}, "status": "Failure", "reason": "NonZeroExitCode", "message": message}
    return {**failed, "details": {"causes": [cause]}}


async def _open(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(protocols=(PROTOCOL,), max_msg_size=0)
    await socket.prepare(request)
    return socket


async def _forward_input(socket: web.WebSocketResponse, give: Callable[[bytes], None]) -> None:
    """Forwards input until the client disconnects; an empty piece ends it."""
    async for message in socket:
        if message.type is WSMsgType.BINARY and message.data:
            channel, data = message.data[0], message.data[1:]
            if channel == STDIN and data:
                give(data)
            elif channel == CLOSE and data[:1] == bytes([STDIN]):
                give(b"")


async def _forward_output(socket: web.WebSocketResponse, process: asyncio.subprocess.Process) -> None:
    """Forwards output until its end."""
    await asyncio.gather(_send(socket, STDOUT, _pieces(process.stdout)), _send(socket, STDERR, _pieces(process.stderr)))


async def _send(socket: web.WebSocketResponse, channel: int, pieces: AsyncIterator[bytes]) -> None:
    async for piece in pieces:
        await socket.send_bytes(bytes([channel]) + piece)


async def _pieces(stream: asyncio.StreamReader | None) -> AsyncIterator[bytes]:
    assert stream is not None
    while piece := await stream.read(PIECE):
        yield piece
