"""seamark cluster kubelet: Pods as processes, Service routing and cluster DNS on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
import uvloop

from seamark.cli.access import check_access
from seamark_cluster.kubelet.images import Images, load
from seamark_cluster.kubelet.machine import Machine, MachineSettings
from seamark_cluster.network.closed import NODE, PODS, SERVICES
from seamark_cluster.programs.images import KNOWN
from seamark_runtime import log
from seamark_runtime.connection import connect
from seamark_runtime.errors import SeamarkError, UserError
from seamark_runtime.http import HttpTransport
from seamark_runtime.signals import run_until_stopped

NETWORKS = ("auto", "bridge", "loopback")


def kubelet(  # noqa: PLR0913, PLR0917  one parameter per option
    kubeconfig: Annotated[str, typer.Option(help="The cluster to join.")] = "",
    name: Annotated[str, typer.Option(help="The Node's name.")] = "seamark",
    images: Annotated[Path | None, typer.Option(help="A table of images: the local program for each.")] = None,
    network: Annotated[
        str,
        typer.Option(
            help="bridge: a network namespace per Pod (needs root); loopback: 127/8; auto: bridge if permitted."
        ),
    ] = "auto",
    stub: Annotated[bool, typer.Option("--stub", help="Pods without processes, for scale tests.")] = False,
    route: Annotated[bool, typer.Option(help="Route Services here.")] = True,
    dns: Annotated[
        str, typer.Option(help="The address of the cluster's DNS; auto: the tenth of the Service range; empty: none.")
    ] = "auto",
    dns_port: Annotated[int, typer.Option(help="Its port.")] = 53,
    domain: Annotated[str, typer.Option(help="The cluster's domain.")] = "cluster.local",
    node_address: Annotated[str, typer.Option(help="This machine's address in the Pod network.")] = NODE,
    pods: Annotated[str, typer.Option(help="The range of Pods' addresses.")] = PODS,
    services: Annotated[str, typer.Option(help="The range of Services' addresses.")] = SERVICES,
    port: Annotated[int, typer.Option(help="The port of the kubelet's own API; 0 for any.")] = 10250,
    pki: Annotated[Path | None, typer.Option(help="The directory of the CA between API server and kubelet.")] = None,
    backoff: Annotated[float, typer.Option(help="Seconds before the second consecutive restart.")] = 10.0,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
) -> None:
    """Run Pods as processes of this machine, route Services, and serve cluster DNS."""
    if network not in NETWORKS:
        raise UserError(f"unknown network {network!r}", hint=f"choose one of {', '.join(NETWORKS)}")
    log.configure(log_level)
    table = (load(images) if images is not None else Images()).beside(KNOWN)
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
    """Runs until SIGINT or SIGTERM; then ends all Pods' processes."""
    transport = await HttpTransport(connect(kubeconfig, "")).open()
    try:
        await check_access(transport)
        machine = Machine(transport, settings, images)
        try:
            await run_until_stopped(machine.run())
        except BaseExceptionGroup as errors:
            if (mistake := first_of(errors)) is not None:
                raise mistake from None
            raise
    finally:
        await transport.close()


def first_of(errors: BaseExceptionGroup[BaseException]) -> SeamarkError | None:
    """The first error of a group, if it is one to be shown to the user."""
    first: BaseException = errors
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first if isinstance(first, SeamarkError) else None


app = typer.Typer(help="Pods as processes of this machine.")
app.command()(kubelet)
