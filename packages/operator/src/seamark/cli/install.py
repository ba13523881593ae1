"""seamark install, seamark uninstall: what has to be in a cluster before the parts of Seamark start, and its end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import typer

from seamark.cli.families import FAMILIES, chosen
from seamark.cli.manifests import Applier, read
from seamark.lifecycle import definitions, secrets
from seamark.lifecycle.leaving import leave
from seamark.lifecycle.parts import Installation
from seamark_runtime import log
from seamark_runtime.client import Client
from seamark_runtime.connection import connect
from seamark_runtime.errors import UserError
from seamark_runtime.http import HttpTransport

Families = Annotated[str, typer.Option("--families", help="Which families, with commas between; all if empty.")]
Name = Annotated[str, typer.Option("--name", help="The installation's name: that of its Deployments and Secrets.")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="The operator's own namespace.")]
GatewayApi = Annotated[bool, typer.Option(help="Also the Gateway API's own kinds, where there are none.")]
Certificates = Annotated[bool, typer.Option("--certificates-only", help="Leave the kinds alone: renew what is due.")]
Edge = Annotated[bool, typer.Option("--edge", help="Also the Secret of an edge in this cluster.")]
EdgeHost = Annotated[str, typer.Option("--edge-host", help="The name by which that edge is known outside.")]
Objects = Annotated[Path | None, typer.Option("--objects", help="Manifests to apply when the kinds are there.")]
Split = Annotated[bool, typer.Option("--split", help="Each family has a Deployment of its own.")]
Policy = Annotated[str, typer.Option("--policy", help="Delete: remove remote objects. Retain: keep them.")]
Within = Annotated[
    float, typer.Option("--within", help="Seconds to wait for remote systems; then it continues without them.")
]
Kubeconfig = Annotated[str, typer.Option("--kubeconfig", help="Which kubeconfig to use; inside a pod none is needed.")]
Context = Annotated[str, typer.Option("--context", help="Which context of the kubeconfig.")]


def install(  # noqa: PLR0913, PLR0917  one parameter per option
    families: Families = "",
    name: Name = "seamark",
    namespace: Namespace = "seamark-system",
    gateway_api: GatewayApi = True,
    certificates_only: Certificates = False,
    edge: Edge = False,
    edge_host: EdgeHost = "",
    objects: Objects = None,
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Put the kinds into the cluster, never in place of others' or newer ones, and the certificates of our parts."""
    log.configure("warning")
    wanted = chosen(_names(families))
    found = definitions.marked(crd for family in wanted for crd in family.crds)
    if gateway_api:
        found += [definition for family in wanted for definition in family.published()]
    documents = read(objects) if objects is not None else []
    place = Installation(name, namespace)
    xds = any(family.name == "gateway" for family in wanted)
    kept = place.certificates(xds=xds, edge=edge, edge_host=edge_host)

    async def work(transport: HttpTransport) -> None:
        if not certificates_only:
            for decision in await definitions.install(transport, found):
                typer.echo(str(decision))
        if kept:
            client = Client(transport, manager=definitions.MANAGER)
            for line in await secrets.keep(client, namespace, place.authority, kept):
                typer.echo(line)
        await Applier(transport, definitions.MANAGER).apply(documents)

    asyncio.run(_with(kubeconfig, context, work))


def uninstall(  # noqa: PLR0913, PLR0917  one parameter per option
    families: Families = "",
    name: Name = "seamark",
    namespace: Namespace = "seamark-system",
    split: Split = False,
    policy: Policy = "Delete",
    within: Within = 120.0,
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Stop the control plane and release everything: remote objects are removed, and no finalizer of ours stays."""
    log.configure("info")
    plan = Installation(name, namespace, split=split).leaving(chosen(_names(families)), policy, within)
    os.environ["SEAMARK_LB_DRAIN"] = policy  # the family gets the settings of its operator

    async def work(transport: HttpTransport) -> None:
        for line in await leave(transport, plan):
            typer.echo(f"released without a response from the remote side: {line}", err=True)
        typer.echo("everything is released; users' objects and the definitions of their kinds stay")

    asyncio.run(_with(kubeconfig, context, work))


def _names(text: str) -> list[str]:
    """Without a choice all that are for use; the sample is for reading."""
    return [name for name in text.split(",") if name] or [name for name in FAMILIES if name != "sample"]


async def _with(kubeconfig: str, context: str, work: Callable[[HttpTransport], Awaitable[None]]) -> None:
    transport = await HttpTransport(connect(kubeconfig, context)).open()
    try:
        await work(transport)
    except TimeoutError:
        raise UserError("the API server did not serve the new kinds in time", hint="try again") from None
    finally:
        await transport.close()
