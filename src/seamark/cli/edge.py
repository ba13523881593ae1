"""seamark edge: a public place for endpoints, without an account."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import typer
import uvloop

from seamark.cli.flags import with_settings
from seamark.core import log
from seamark.edge.server import Edge
from seamark.edge.settings import PREFIX, EdgeSettings
from seamark.wire.files import allow_many_files
from seamark.wire.memory import keep_buffers


def run(settings: EdgeSettings) -> None:
    """Run a self-hosted edge that the official ngrok SDKs connect to. One process owns a state: one replica."""
    log.configure(settings.log_level)
    keep_buffers()
    allow_many_files()
    uvloop.run(serve(settings))


async def serve(settings: EdgeSettings) -> None:
    running = Edge(settings)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    loop.add_signal_handler(signal.SIGHUP, running.reload)
    await running.start()
    typer.echo(introduction(settings))
    await stopping.wait()
    await running.drain()
    await running.stop()


def introduction(settings: EdgeSettings) -> str:
    """What a person copies to use this edge with an official SDK."""
    directory = settings.directory.absolute()
    scheme = "https" if settings.api_tls else "http"
    lines = [
        f"agents:    {settings.public_host}:{settings.agent_port}",
        f"ca file:   {directory / 'ca.pem'}",
        f"authtoken: {_secret(directory / 'agent-token')}",
        f"api:       {scheme}://{settings.public_host}:{settings.api_port}",
        f"api key:   {_secret(directory / 'api-key')}",
    ]
    return "\n".join(lines)


def _secret(path: Path) -> str:
    return path.read_text().strip() if path.exists() else f"(removed from {path})"


command = with_settings(EdgeSettings, run, PREFIX)
app = typer.Typer(add_completion=False)
app.command("edge")(command)
