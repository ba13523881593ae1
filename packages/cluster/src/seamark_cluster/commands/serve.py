"""seamark cluster serve: the embedded cluster as a program of its own."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop

from seamark_cluster.commands.cluster import parse_user, state_directory
from seamark_cluster.kubelet.images import Images, load
from seamark_cluster.server.cluster import ClusterSettings, EmbeddedCluster, with_node
from seamark_runtime import log
from seamark_runtime.signals import stop_event


def serve(  # noqa: PLR0913, PLR0917  one parameter per option
    name: Annotated[str, typer.Option("--name", "-n", help="Which one, if there are several.")] = "embedded",
    state: Annotated[Path | None, typer.Option(help="Keep the state in this file across restarts.")] = None,
    bind_address: Annotated[str, typer.Option(help="Where the API server listens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Its port; 0 for any.")] = 0,
    user: Annotated[list[str] | None, typer.Option(help="An additional user, as NAME or NAME=GROUP,GROUP.")] = None,
    node: Annotated[bool, typer.Option(help="Also run a node for Pods.")] = True,
    network: Annotated[str, typer.Option(help="The Pod network: loopback, bridge (needs root) or auto.")] = "loopback",
    stub: Annotated[bool, typer.Option("--stub", help="Pods without processes, for scale tests.")] = False,
    images: Annotated[Path | None, typer.Option(help="A table of images: the local program for each.")] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "warning",
) -> None:
    """Run a cluster in this process until Ctrl-C: API server, controllers and a node. Nothing to install."""
    log.configure(log_level)
    began = time.monotonic()
    users = tuple(parse_user(text) for text in user or ())
    table = load(images) if images is not None else Images()
    how: dict[str, Any] = {"users": users, "host": bind_address, "port": port, "state": state, "images": table}
    settings = with_node(network, stub=stub, **how) if node else ClusterSettings(**how)
    directory = state_directory(name)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    uvloop.run(run(directory, settings, began))


async def run(directory: Path, settings: ClusterSettings, began: float) -> None:
    cluster = EmbeddedCluster(directory, settings)
    await cluster.start()
    try:
        print(f"The embedded cluster is up at {cluster.url} ({time.monotonic() - began:.1f} s)")
        print(f"export KUBECONFIG={cluster.kubeconfig}", flush=True)
        ends = [asyncio.ensure_future(stop_event().wait()), asyncio.ensure_future(cluster.failed())]
        done, left = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in left:
            end.cancel()
        for end in done:
            end.result()
    finally:
        await cluster.close()
