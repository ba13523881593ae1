"""seamark cluster serve: the embedded cluster as a program of its own."""

from __future__ import annotations

import asyncio
import signal
import time
from pathlib import Path
from typing import Annotated, Any

import typer
import uvloop

from seamark.cli.cluster import home, parse_user
from seamark.cluster.kubelet.images import Images, load
from seamark.cluster.server.cluster import ClusterSettings, EmbeddedCluster, with_node
from seamark.core import log


def serve(  # noqa: PLR0913, PLR0917  one parameter per option
    name: Annotated[str, typer.Option("--name", "-n", help="Which one, if there are several.")] = "embedded",
    state: Annotated[Path | None, typer.Option(help="Keep the state in this file, over restarts.")] = None,
    bind_address: Annotated[str, typer.Option(help="Where the API server listens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Its port; 0 for any.")] = 0,
    user: Annotated[list[str] | None, typer.Option(help="A further user, as NAME or NAME=GROUP,GROUP.")] = None,
    node: Annotated[bool, typer.Option(help="Run Pods here, too.")] = True,
    network: Annotated[str, typer.Option(help="Of Pods: loopback, or bridge as root, or auto.")] = "loopback",
    stub: Annotated[bool, typer.Option("--stub", help="Pods without processes, for scale.")] = False,
    images: Annotated[Path | None, typer.Option(help="A table of images: which program stands for which.")] = None,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "warning",
) -> None:
    """Run a cluster in this process until Ctrl-C: API server, controllers and a node. Nothing to install."""
    log.configure(log_level)
    began = time.monotonic()
    users = tuple(parse_user(text) for text in user or ())
    table = load(images) if images is not None else Images()
    how: dict[str, Any] = {"users": users, "host": bind_address, "port": port, "state": state, "images": table}
    settings = with_node(network, stub=stub, **how) if node else ClusterSettings(**how)
    directory = home(name)
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    uvloop.run(run(directory, settings, began))


async def run(directory: Path, settings: ClusterSettings, began: float) -> None:
    cluster = EmbeddedCluster(directory, settings)
    await cluster.start()
    try:
        print(f"The embedded cluster is up at {cluster.url} ({time.monotonic() - began:.1f} s)")
        print(f"export KUBECONFIG={cluster.kubeconfig}", flush=True)
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        ends = [asyncio.ensure_future(stop.wait()), asyncio.ensure_future(cluster.failed())]
        done, left = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in left:
            end.cancel()
        for end in done:
            end.result()
    finally:
        await cluster.close()
