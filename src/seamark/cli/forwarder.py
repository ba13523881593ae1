"""seamark forwarder: bring the connections of Pods to endpoints at the edge."""

from __future__ import annotations

import asyncio
import signal

import typer
import uvloop

from seamark.cli.access import greet
from seamark.cli.flags import with_settings
from seamark.core import log
from seamark.core.connection import connect
from seamark.core.health import HealthServer
from seamark.core.http import HttpTransport
from seamark.forwarder.forwarder import Forwarder
from seamark.forwarder.settings import ForwarderSettings
from seamark.wire.memory import keep_buffers


def run(settings: ForwarderSettings) -> None:
    """Bring the connections of Pods, by BoundEndpoint, to the edge. Run as many replicas as you like."""
    log.configure(settings.log_level)
    keep_buffers()
    uvloop.run(serve(settings))


async def serve(settings: ForwarderSettings) -> None:
    transport = await HttpTransport(connect(settings.kubeconfig, settings.context)).open()
    try:
        await greet(transport)
    except BaseException:
        await transport.close()
        raise
    forwarder = Forwarder(transport, settings)
    health = HealthServer(forwarder.metrics.registry, forwarder.missing)
    if settings.health_address:
        await health.start(settings.health_address)
    work = asyncio.ensure_future(forwarder.run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, work.cancel)
    try:
        await work
    except asyncio.CancelledError:
        if not work.done():
            raise
    finally:
        await health.close()
        await transport.close()


command = with_settings(ForwarderSettings, run)
app = typer.Typer(add_completion=False)
app.command("forwarder")(command)
