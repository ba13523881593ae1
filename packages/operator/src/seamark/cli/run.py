"""seamark run: the operator, on the cluster that the kubeconfig names."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from functools import partial
from random import Random

import uvloop

from seamark.cli import console
from seamark.cli.access import check_access, check_namespace
from seamark.cli.families import chosen
from seamark.cli.flags import with_settings
from seamark.console.access import Access
from seamark.console.evidence import LocalEvidence, evidence_application
from seamark_runtime import log
from seamark_runtime.clock import SystemClock
from seamark_runtime.connection import Load, connect
from seamark_runtime.evidence import evidence
from seamark_runtime.garbage import spare_what_stays
from seamark_runtime.health import HealthServer
from seamark_runtime.http import HttpTransport
from seamark_runtime.leader import process_identity
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from seamark_runtime.signals import run_until_stopped
from seamark_runtime.site import Site
from seamark_runtime.transport import Transport


def run(settings: Settings) -> None:
    """Run the operator until it is stopped."""
    log.configure(settings.log_level)
    uvloop.run(serve(settings, connect(settings.kubeconfig, settings.context)))


async def serve(settings: Settings, load: Load) -> None:
    families = chosen(settings.families)
    for family in families:
        family.require()
    transport = await HttpTransport(load, limit=settings.workers).open()
    try:
        await check_access(transport)
        in_pod = "KUBERNETES_SERVICE_HOST" in os.environ
        if settings.leader_election and not in_pod:  # a Pod has its namespace
            await check_namespace(transport, settings.namespace)
        # All processes of a Pod end with it.
        installation = "" if in_pod else f"{transport.base_url} {settings.namespace}/{settings.lease}"
        controllers = [controller for family in families for controller in family.controllers_of(installation)]
        world = World(transport, SystemClock(), Random(), process_identity())
        operator = Operator(world, controllers, settings)
        async with console_served(operator, settings, load), evidence_served(operator, settings, transport):
            await supervise(operator, settings)
    finally:
        await transport.close()


@contextlib.asynccontextmanager
async def console_served(operator: Operator, settings: Settings, load: Load) -> AsyncIterator[None]:
    """The console beside the operator, if it is configured. If it can't be served, the operator ends with that
    error."""
    if not settings.console:
        yield
        return
    up = asyncio.Event()
    source = partial(LocalEvidence, evidence=partial(evidence, operator))
    page = asyncio.ensure_future(console.serve(settings.console, load, up.set, source))
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
async def evidence_served(operator: Operator, settings: Settings, transport: Transport) -> AsyncIterator[None]:
    """The evidence alone, if it is configured: for a console in another process."""
    site = Site("evidence", "choose another with --evidence, or an empty one for none")
    if settings.evidence:
        access = Access(transport, time.monotonic)
        await site.open(evidence_application(access, partial(evidence, operator)), settings.evidence)
    try:
        yield
    finally:
        await site.close()


async def supervise(operator: Operator, settings: Settings) -> None:
    """Runs the operator with its health server until a signal asks it to stop."""
    health = HealthServer(operator.metrics.registry, operator.missing)
    measuring = asyncio.ensure_future(operator.measure())
    if settings.health_address:
        await health.start(settings.health_address)
    sparing = asyncio.ensure_future(spare_what_stays(lambda: operator.quiet))
    try:
        await run_until_stopped(operator.run())
    finally:
        measuring.cancel()
        sparing.cancel()
        await health.close()


command = with_settings(Settings, run)
