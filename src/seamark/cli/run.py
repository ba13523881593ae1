"""seamark run: the operator, on the cluster that the kubeconfig names."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import AsyncIterator
from functools import partial
from random import Random

import uvloop

from seamark.cli import console
from seamark.cli.access import at_home, greet
from seamark.cli.families import chosen
from seamark.cli.flags import with_settings
from seamark.console.access import Access
from seamark.console.evidence import Here, witnessing
from seamark.core import log
from seamark.core.clock import SystemClock
from seamark.core.connection import Load, connect
from seamark.core.evidence import evidence
from seamark.core.garbage import spare_what_stays
from seamark.core.health import HealthServer
from seamark.core.http import HttpTransport
from seamark.core.operator import Operator, World
from seamark.core.settings import Settings
from seamark.core.site import Site
from seamark.core.transport import Transport


def run(settings: Settings) -> None:
    """Run the operator until it is told to stop."""
    log.configure(settings.log_level)
    uvloop.run(serve(settings, connect(settings.kubeconfig, settings.context)))


async def serve(settings: Settings, load: Load) -> None:
    families = chosen(settings.families)
    transport = await HttpTransport(load, limit=settings.workers).open()
    try:
        await greet(transport)
        if settings.leader_election and "KUBERNETES_SERVICE_HOST" not in os.environ:  # a Pod has its namespace
            await at_home(transport, settings.namespace)
        controllers = [one for family in families for one in family.controllers()]
        identity = f"{socket.gethostname()}-{os.getpid()}"
        operator = Operator(World(transport, SystemClock(), Random(), identity), controllers, settings)
        async with showing(operator, settings, load), telling(operator, settings, transport):
            await supervise(operator, settings)
    finally:
        await transport.close()


@contextlib.asynccontextmanager
async def showing(operator: Operator, settings: Settings, load: Load) -> AsyncIterator[None]:
    """The console beside the operator, if it is wanted. One that can't be served ends the operator, with its words."""
    if not settings.console:
        yield
        return
    up = asyncio.Event()
    witness = partial(Here, evidence=partial(evidence, operator))
    page = asyncio.ensure_future(console.serve(settings.console, load, up.set, witness))
    starting = asyncio.ensure_future(up.wait())
    await asyncio.wait((page, starting), return_when=asyncio.FIRST_COMPLETED)
    starting.cancel()
    try:
        if page.done():
            page.result()
        yield
    finally:
        page.cancel()
        await asyncio.gather(page, return_exceptions=True)


@contextlib.asynccontextmanager
async def telling(operator: Operator, settings: Settings, transport: Transport) -> AsyncIterator[None]:
    """The evidence alone, if it is wanted: a console that runs apart asks for it."""
    site = Site("evidence", "choose another with --evidence, or an empty one for none")
    if settings.evidence:
        access = Access(transport, time.monotonic)
        await site.open(witnessing(access, partial(evidence, operator)), settings.evidence)
    try:
        yield
    finally:
        await site.close()


async def supervise(operator: Operator, settings: Settings) -> None:
    """Runs the operator with its health server until a signal asks it to stop."""
    health = HealthServer(operator.metrics.registry, operator.missing)
    if settings.health_address:
        await health.start(settings.health_address)
    measuring = asyncio.ensure_future(operator.measure())
    sparing = asyncio.ensure_future(spare_what_stays(lambda: operator.quiet))
    work = asyncio.ensure_future(operator.run())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, work.cancel)
    try:
        await work
    except asyncio.CancelledError:
        if not work.done():
            raise
    finally:
        measuring.cancel()
        sparing.cancel()
        await health.close()


command = with_settings(Settings, run)
