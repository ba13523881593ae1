"""seamark cluster kubelet: Pods as processes, Services that route, cluster DNS, on this machine."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Annotated

import typer
import uvloop

from seamark.cli.access import greet
from seamark.cluster.kubelet.images import Images, load
from seamark.cluster.kubelet.machine import Machine, MachineSettings
from seamark.cluster.network.closed import NODE, PODS, SERVICES
from seamark.core import log
from seamark.core.connection import connect
from seamark.core.errors import SeamarkError, UserError
from seamark.core.http import HttpTransport

NETWORKS = ("auto", "bridge", "loopback")


def kubelet(  # noqa: PLR0913, PLR0917  one parameter per option
    kubeconfig: Annotated[str, typer.Option(help="The cluster to join.")] = "",
    name: Annotated[str, typer.Option(help="The Node's name.")] = "seamark",
    images: Annotated[Path | None, typer.Option(help="A table of images: which program stands for which.")] = None,
    network: Annotated[
        str, typer.Option(help="bridge: a namespace for each Pod, as root; loopback: 127/8; auto: what is allowed.")
    ] = "auto",
    stub: Annotated[bool, typer.Option("--stub", help="Pods without processes, for scale.")] = False,
    route: Annotated[bool, typer.Option(help="Route Services here.")] = True,
    dns: Annotated[
        str, typer.Option(help="The address of the cluster's DNS; auto: the tenth of the Services'; empty: none.")
    ] = "auto",
    dns_port: Annotated[int, typer.Option(help="Its port.")] = 53,
    domain: Annotated[str, typer.Option(help="The cluster's domain.")] = "cluster.local",
    node_address: Annotated[str, typer.Option(help="This machine's address, as Pods know it.")] = NODE,
    pods: Annotated[str, typer.Option(help="The range of Pods' addresses.")] = PODS,
    services: Annotated[str, typer.Option(help="The range of Services' addresses.")] = SERVICES,
    port: Annotated[int, typer.Option(help="The port of the kubelet's own API; 0 for any.")] = 10250,
    pki: Annotated[Path | None, typer.Option(help="The authority that the API server knows kubelets by.")] = None,
    backoff: Annotated[float, typer.Option(help="Seconds before a second restart in a row.")] = 10.0,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
) -> None:
    """Run Pods as processes of this machine, route Services, and answer for the cluster's names."""
    if network not in NETWORKS:
        raise UserError(f"there is no network {network!r}", hint=f"choose one of {', '.join(NETWORKS)}")
    log.configure(log_level)
    table = load(images) if images is not None else Images()
    settings = MachineSettings(
        name=name,
        network=network,
        node_address=node_address,
        pods=pods,
        services=services,
        route=route,
        dns_address=dns,
        dns_port=dns_port,
        domain=domain,
        port=port,
        stub=stub,
        backoff=backoff,
        pki=pki,
    )
    uvloop.run(serve(kubeconfig, settings, table))


async def serve(kubeconfig: str, settings: MachineSettings, images: Images) -> None:
    """Until a signal asks it to stop; then in good order."""
    transport = await HttpTransport(connect(kubeconfig, "")).open()
    try:
        await greet(transport)
        machine = Machine(transport, settings, images)
        work = asyncio.ensure_future(machine.run())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, work.cancel)
        try:
            await work
        except asyncio.CancelledError:
            if not work.done():
                raise
        except BaseExceptionGroup as errors:
            if (mistake := first_of(errors)) is not None:
                raise mistake from None
            raise
    finally:
        await transport.close()


def first_of(errors: BaseExceptionGroup[BaseException]) -> SeamarkError | None:
    """What a person should hear of a group of errors, if the first was raised on purpose."""
    first: BaseException = errors
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first if isinstance(first, SeamarkError) else None


app = typer.Typer(help="Pods as processes of this machine.")
app.command()(kubelet)
