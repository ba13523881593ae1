"""seamark dns: see what would be done, do it once, and serve our DNS providers to others."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from random import Random
from typing import Annotated, Any

import typer
import uvloop
from rich.console import Console
from rich.table import Table

from seamark.api.dns import DNSEndpoint
from seamark.cli.access import cluster
from seamark.cli.run import run as operate
from seamark.families.dns.family import declared, dependencies_of
from seamark.families.dns.model.dependencies import Dependencies
from seamark.families.dns.model.entries import CRD
from seamark.families.dns.oneshot.dryrun import Planned, dry_run, other_subjects
from seamark.families.dns.oneshot.once import until_reported
from seamark.families.dns.settings import DnsSettings, loaded, options_of, provider_of, rules_of
from seamark.providers.dns.webhook_server import MESSAGE, WebhookServer
from seamark_runtime import log
from seamark_runtime.client import Client
from seamark_runtime.clock import SystemClock
from seamark_runtime.errors import UserError
from seamark_runtime.guardedhttp import GuardedServer
from seamark_runtime.leader import process_identity
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings, load
from seamark_runtime.signals import stop_event

app = typer.Typer(no_args_is_help=True, help="DNS records: what would be done, and our providers for others.")

Kubeconfig = Annotated[str, typer.Option(help="Which kubeconfig to use.")]
Context = Annotated[str, typer.Option(help="Which context of it.")]
Once = Annotated[bool, typer.Option("--once", help="Sync once and end, as `seamark dns sync` does.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be done, as `seamark dns plan` does.")]
Provider = Annotated[
    str, typer.Option(help="rfc2136, webhook or memory; required here or as SEAMARK_DNS_PROVIDER.", show_default=False)
]
Seconds = Annotated[float, typer.Option(help="How long to wait for answers.")]
Address = Annotated[str, typer.Option(help="Where to listen, as HOST:PORT.")]


@app.command("run")
def run_dns(
    once: Once = False,
    dry_run: DryRun = False,
    kubeconfig: Kubeconfig = "",
    context: Context = "",
    seconds: Seconds = 300.0,
    provider: Provider = "",
) -> None:
    """Run the operator with this family alone. `--once` and `--dry-run` are as in ExternalDNS."""
    if dry_run:
        plan(kubeconfig, context, provider)
    elif once:
        sync(kubeconfig, context, seconds, provider)
    else:
        choose(provider)
        given: dict[str, Any] = {"kubeconfig": kubeconfig, "context": context}
        flags = {name: value for name, value in given.items() if value}
        operate(load(Settings, environment=os.environ, flags={**flags, "families": ("dns",)}))


@app.command("plan")
def plan(kubeconfig: Kubeconfig = "", context: Context = "", provider: Provider = "") -> None:
    """Print as a table what the operator would do to the zones now. Nothing is written."""
    choose(provider)
    found = uvloop.run(_plan(loaded(), kubeconfig, context))
    Console().print(table(found) if found else "The zones are as they should be.")


@app.command("sync")
def sync(kubeconfig: Kubeconfig = "", context: Context = "", seconds: Seconds = 300.0, provider: Provider = "") -> None:
    """Sync once and end: 0 if every DNSEndpoint was synced in this run and is served, 1 if one is not.

    It waits for its turn as the leader.
    """
    choose(provider)
    left = uvloop.run(_sync(loaded(), kubeconfig, context, seconds))
    for message in left:
        typer.echo(message, err=True)
    raise typer.Exit(1 if left else 0)


@app.command("webhook")
def webhook(address: Address = "127.0.0.1:8888", provider: Provider = "") -> None:
    """Serve the configured provider by ExternalDNS's webhook protocol."""
    choose(provider)
    log.configure("info")
    uvloop.run(_serve(loaded(), address))


def choose(provider: str) -> None:
    """A provider that is named as an option takes precedence over the environment."""
    if provider:
        os.environ["SEAMARK_DNS_PROVIDER"] = provider


def table(found: list[Planned]) -> Table:
    made = Table("Zone", "Action", "Name", "Type", "Before", "After", "Why")
    for row in found:
        made.add_row(row.zone or "", row.action, row.name, row.type, row.before, row.after, row.why)
    return made


async def _plan(settings: DnsSettings, kubeconfig: str, context: str) -> list[Planned]:
    provider = provider_of(settings)
    try:
        async with cluster(kubeconfig, context) as transport:
            client = Client(transport, manager="seamark")
            rules = rules_of(settings, provider)
            endpoints = await client.list(DNSEndpoint, namespace=settings.dns_namespace) if CRD in rules.sources else []
            return await dry_run(provider, rules, endpoints, await other_subjects(client, rules))
    finally:
        await provider.close()


async def _sync(settings: DnsSettings, kubeconfig: str, context: str, seconds: float) -> list[str]:
    log.configure("warning")
    provider = provider_of(settings)
    options = options_of(settings, provider)
    options = replace(options, rules=replace(options.rules, hold=0.0, sweep_grace=0.0))  # it ends before they do
    needed = (DNSEndpoint.RESOURCE,) if CRD in options.rules.sources and not settings.dns_namespace else ()
    core = load(Settings, environment=os.environ, flags={})
    try:
        async with cluster(kubeconfig, context, *needed) as transport:
            world = World(transport, SystemClock(), Random(), process_identity())
            dependencies = dependencies_of(options, provider)
            return await _once(Operator(world, declared(dependencies), core), dependencies, seconds)
    finally:
        await provider.close()


async def _once(operator: Operator, dependencies: Dependencies, seconds: float) -> list[str]:
    work = asyncio.get_running_loop().create_task(operator.run())
    try:
        return await until_reported(operator, dependencies, seconds)
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def _serve(settings: DnsSettings, address: str) -> None:
    provider = provider_of(settings)
    host, _, port = address.rpartition(":")
    server = GuardedServer(WebhookServer(provider).app, most_body=2 * MESSAGE.size)
    stopping = stop_event()
    try:
        await server.start(host.strip("[]") or None, int(port))
        typer.echo(f"serving {', '.join(provider.zones) or 'no zones'} on {address}")
        await stopping.wait()
    except (OSError, ValueError) as error:
        raise UserError(f"can't listen on {address} ({error})", hint="choose another with --address") from None
    finally:
        await server.close()
        await provider.close()
