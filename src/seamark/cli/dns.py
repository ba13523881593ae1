"""seamark dns: see what would be done, and serve our DNS providers to others."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated

import typer
import uvloop
from aiohttp import web
from rich.console import Console
from rich.table import Table

from seamark.api.dns import DNSEndpoint
from seamark.core import log
from seamark.core.client import Client
from seamark.core.connection import connect
from seamark.core.errors import UserError
from seamark.core.http import HttpTransport
from seamark.families.dns.dryrun import Planned, dry_run
from seamark.families.dns.settings import DnsSettings, loaded, provider_of, rules_of
from seamark.providers.dns.webhook_server import WebhookServer

app = typer.Typer(no_args_is_help=True, help="DNS records: what would be done, and our providers for others.")

Kubeconfig = Annotated[str, typer.Option(help="Which kubeconfig to use.")]
Context = Annotated[str, typer.Option(help="Which context of it.")]
Address = Annotated[str, typer.Option(help="Where to listen, as HOST:PORT.")]


@app.command("plan")
def plan(kubeconfig: Kubeconfig = "", context: Context = "") -> None:
    """Print as a table what the operator would do to the zones now. Nothing is written."""
    found = uvloop.run(_plan(loaded(), kubeconfig, context))
    Console().print(table(found) if found else "The zones are as they should be.")


@app.command("webhook")
def webhook(address: Address = "127.0.0.1:8888") -> None:
    """Serve the configured provider by ExternalDNS's webhook protocol."""
    log.configure("info")
    uvloop.run(_serve(loaded(), address))


def table(found: list[Planned]) -> Table:
    made = Table("Zone", "Action", "Name", "Type", "Before", "After", "Why")
    for row in found:
        made.add_row(row.zone or "", row.action, row.name, row.type, row.before, row.after, row.why)
    return made


async def _plan(settings: DnsSettings, kubeconfig: str, context: str) -> list[Planned]:
    provider = provider_of(settings)
    transport = await HttpTransport(connect(kubeconfig, context)).open()
    try:
        client = Client(transport, manager="seamark")
        endpoints = await client.list(DNSEndpoint, namespace=settings.dns_namespace)
        return await dry_run(provider, rules_of(settings, provider), endpoints)
    finally:
        await transport.close()
        await provider.close()


async def _serve(settings: DnsSettings, address: str) -> None:
    provider = provider_of(settings)
    host, _, port = address.rpartition(":")
    runner = web.AppRunner(WebhookServer(provider).app, access_log=None)
    await runner.setup()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        await web.TCPSite(runner, host.strip("[]") or None, int(port)).start()
        typer.echo(f"serving {', '.join(provider.zones) or 'no zones'} on {address}")
        await stop.wait()
    except (OSError, ValueError) as error:
        raise UserError(f"can't listen on {address} ({error})", hint="choose another with --address") from None
    finally:
        await runner.cleanup()
        await provider.close()
