"""seamark console: the web page, on the cluster that the kubeconfig names."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Annotated

import typer
import uvloop

from seamark.cli.access import check_access
from seamark.console.access import Access
from seamark.console.evidence import EvidenceSource, RemoteEvidence
from seamark.console.graph import graph
from seamark.console.rows import Board
from seamark.console.server import Console
from seamark.explain.meanings import meanings
from seamark.explain.model import Hop
from seamark_runtime import log
from seamark_runtime.api.meta import Key
from seamark_runtime.clock import SystemClock
from seamark_runtime.connection import Connection, Load, connect
from seamark_runtime.garbage import spare_what_stays
from seamark_runtime.health import HealthServer
from seamark_runtime.http import HttpTransport
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from seamark_runtime.signals import run_until_stopped
from seamark_runtime.source import Collection
from seamark_runtime.transport import Transport

SETTINGS = Settings(leader_election=False, health_address="", workers=1)

Address = Annotated[str, typer.Option("--address", help="Where to serve it.")]
Operators = Annotated[
    str, typer.Option("--operators", help="Where operators serve their evidence: HOST:PORT, all addresses of it.")
]
Kubeconfig = Annotated[str, typer.Option("--kubeconfig", help="Which kubeconfig to use.")]
Context = Annotated[str, typer.Option("--context", help="Which context of the kubeconfig.")]
Health = Annotated[str, typer.Option("--health-address", help="Where health and metrics are served; nowhere if empty.")]


def console(
    address: Address = "127.0.0.1:8090",
    operators: Operators = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
    health_address: Health = "",
) -> None:
    """Serve the web page: the map of endpoints, live, to users with a Kubernetes token."""
    log.configure("warning")
    started = f"The console is at http://{address}/ (a token: kubectl create token NAME)"
    evidence = RemoteEvidence(operators) if operators else None
    load = connect(kubeconfig, context)
    page = serve(address, load, lambda: typer.echo(started), lambda _: evidence, health_address)
    uvloop.run(run_until_stopped(page))


async def serve(
    address: str,
    load: Load,
    serving: Callable[[], None],
    evidence: Callable[[Access], EvidenceSource | None] = lambda _: None,
    health_address: str = "",
) -> None:
    """Runs until cancelled. `serving` is called once the page can be opened."""
    transport = await HttpTransport(load, limit=SETTINGS.workers).open()
    try:
        await check_access(transport)
        endpoints: Collection[Key, Hop] = Collection("console")
        board = Board(endpoints, time.time)
        declared = graph(endpoints, meanings())
        operator = Operator(World(transport, SystemClock(), Random(), "seamark-console"), [declared], SETTINGS)
        access = Access(transport, time.monotonic)
        page = Console(board, access, as_user(load), lambda: endpoints.synced, evidence(access))
        health = HealthServer(operator.metrics.registry, operator.missing)
        beside = (
            asyncio.ensure_future(board.leaders.follow(transport)),
            asyncio.ensure_future(spare_what_stays(lambda: operator.quiet)),
        )
        try:
            if health_address:
                await health.start(health_address)
            await page.start(address)
            serving()
            async with operator.metrics.loop.running():
                await operator.run()
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)
            await page.close()
            await health.close()
    finally:
        await transport.close()


def as_user(load: Load) -> Callable[[str], asyncio.Future[Transport]]:
    """The same API server with the token of a user, and without our own credentials."""

    def open_as(token: str) -> asyncio.Future[Transport]:
        async def theirs() -> Connection:
            return replace(await load(), token=token, certificate_pem="", key_pem="")

        return asyncio.ensure_future(HttpTransport(theirs).open())

    return open_as
