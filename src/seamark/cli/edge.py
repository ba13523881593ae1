"""seamark edge: a public place for endpoints, without an account."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop

from seamark.core import log
from seamark.core.settings import load
from seamark.edge.server import Edge
from seamark.edge.settings import EdgeSettings

app = typer.Typer(invoke_without_command=True, help="Run a self-hosted edge that the official ngrok SDKs connect to.")


@app.callback()
def edge(  # noqa: PLR0913, PLR0917  # one parameter a flag
    context: typer.Context,
    state: Annotated[str | None, typer.Option(help="Directory of the state.")] = None,
    bind: Annotated[str | None, typer.Option(help="Address that all listeners bind.")] = None,
    public_host: Annotated[str | None, typer.Option(help="Host in tcp:// URLs and in the certificate.")] = None,
    domain: Annotated[str | None, typer.Option(help="Hosts below it are handed out.")] = None,
    agent_port: Annotated[int | None, typer.Option(help="Where agents connect.")] = None,
    api_port: Annotated[int | None, typer.Option(help="Where the REST API is served.")] = None,
    api_tls: Annotated[bool | None, typer.Option(help="Serve the REST API with TLS.")] = None,
    ops_port: Annotated[int | None, typer.Option(help="Metrics and health.")] = None,
    http_port: Annotated[int | None, typer.Option(help="Public port of http:// endpoints.")] = None,
    tls_port: Annotated[int | None, typer.Option(help="Public port of https:// and tls:// endpoints.")] = None,
    ingress_port: Annotated[int | None, typer.Option(help="Where forwarders of clusters connect.")] = None,
    tcp_ports: Annotated[str | None, typer.Option(help="Range of public ports of tcp:// endpoints.")] = None,
    agent_cert: Annotated[str | None, typer.Option(help="Certificate file for agents.")] = None,
    agent_key: Annotated[str | None, typer.Option(help="Key file of that certificate.")] = None,
    config: Annotated[str, typer.Option(help="YAML file with settings.")] = "",
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
) -> None:
    """Run the edge until it is told to stop. One process owns a state: this is one replica, by construction."""
    flags: dict[str, Any] = {k: v for k, v in context.params.items() if k not in ("config", "log_level")}
    settings = load(EdgeSettings, file=config, environment=_environment(), flags=flags)
    log.configure(log_level)
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


def _environment() -> dict[str, str]:
    """SEAMARK_EDGE_<NAME>, so that an edge and an operator can share an environment."""
    prefix = "SEAMARK_EDGE_"
    return {f"SEAMARK_{k.removeprefix(prefix)}": v for k, v in os.environ.items() if k.startswith(prefix)}
