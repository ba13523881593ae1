"""seamark forwarder: bring the connections of Pods to endpoints at the edge."""

from __future__ import annotations

import typer
import uvloop

from seamark.cli.access import check_access
from seamark.cli.flags import with_settings
from seamark_edge.forwarder.forwarder import Forwarder
from seamark_edge.forwarder.settings import ForwarderSettings
from seamark_edge.wire.memory import keep_buffers
from seamark_runtime import log
from seamark_runtime.connection import connect
from seamark_runtime.garbage import spare_program
from seamark_runtime.health import HealthServer
from seamark_runtime.http import HttpTransport
from seamark_runtime.signals import run_until_stopped


def run(settings: ForwarderSettings) -> None:
    """Bring the connections of Pods, by BoundEndpoint, to the edge. Run as many replicas as you like."""
    log.configure(settings.log_level)
    keep_buffers()
    uvloop.run(serve(settings))


async def serve(settings: ForwarderSettings) -> None:
    transport = await HttpTransport(connect(settings.kubeconfig, settings.context)).open()
    try:
        await check_access(transport)
    except BaseException:
        await transport.close()
        raise
    forwarder = Forwarder(transport, settings)
    health = HealthServer(forwarder.metrics.registry, forwarder.missing)
    if settings.health_address:
        await health.start(settings.health_address)
    spare_program()
    try:
        async with forwarder.metrics.loop.running():
            await run_until_stopped(forwarder.run())
    finally:
        await health.close()
        await transport.close()


command = with_settings(ForwarderSettings, run)
app = typer.Typer(add_completion=False)
app.command("forwarder")(command)
