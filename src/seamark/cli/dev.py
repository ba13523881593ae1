"""seamark dev: everything on this machine, to look at.

A cluster (the embedded one, in this process; a real control plane; or the one that a kubeconfig names), the operator
with its families, and the examples applied. It ends with Ctrl-C and leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any

import msgspec
import typer
import uvloop
import yaml
from rich.console import Console
from rich.live import Live
from rich.table import Table

from seamark.api.crd import manifests
from seamark.api.meta import Condition
from seamark.cli import console
from seamark.cli.devdns import give_names
from seamark.cli.families import FAMILIES
from seamark.cli.manifests import Applier, read
from seamark.cli.progress import shown
from seamark.cli.run import supervise
from seamark.cluster.real.binaries import find
from seamark.cluster.real.plane import ControlPlane
from seamark.cluster.real.ports import free
from seamark.cluster.server.cluster import EmbeddedCluster, with_node
from seamark.core import log
from seamark.core.clock import SystemClock
from seamark.core.conditions import TRUE
from seamark.core.connection import connect
from seamark.core.controller import Controller
from seamark.core.errors import UserError
from seamark.core.http import HttpTransport
from seamark.core.operator import Operator, World
from seamark.core.settings import Settings
from seamark.core.transport import Request

PATIENCE = 60.0
SETTINGS = Settings(leader_election=False, health_address="")
CLUSTERS = ("embedded", "real")
NEED_PODS = ("Deployment", "Pod", "Workload")
PAGE_PORTS = range(8090, 8190)  # of the console: the first that is free

Check = Annotated[bool, typer.Option("--check", help="Start, wait until every example is ready, stop.")]
Examples = Annotated[Path, typer.Option(help="The manifests to apply.")]
Which = Annotated[str, typer.Option("--cluster", help="embedded: in this process; real: etcd and kube-apiserver.")]
Kubeconfig = Annotated[str, typer.Option(help="Use the cluster that this kubeconfig names, and start none.")]
Network = Annotated[str, typer.Option(help="Of Pods on the embedded cluster: loopback, or bridge as root, or auto.")]


@dataclass(frozen=True)
class Place:
    """A cluster, as a person reaches it."""

    url: str
    kubeconfig: Path


def dev(
    check: Check = False,
    examples: Examples = Path("examples"),
    cluster: Which = "embedded",
    kubeconfig: Kubeconfig = "",
    network: Network = "loopback",
) -> None:
    """Show everything on this machine: a cluster, the operator, the examples."""
    files = sorted(examples.rglob("*.yaml"))
    if not files:
        raise UserError(f"no manifests in {examples}", hint="name a folder that has some with --examples")
    if cluster not in CLUSTERS:
        raise UserError(f"there is no cluster {cluster!r}", hint=f"choose one of {', '.join(CLUSTERS)}")
    log.configure("error")
    give_names()
    began = time.monotonic()
    if kubeconfig:
        uvloop.run(show(Place("that kubeconfig", Path(kubeconfig)), files, began, check=check))
    elif cluster == "embedded":
        uvloop.run(embedded(files, network, began, check=check))
    else:
        real(files, check=check)


async def embedded(files: list[Path], network: str, began: float, *, check: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="seamark-dev-") as folder:
        cluster = EmbeddedCluster(Path(folder), with_node(network))
        await cluster.start()
        try:
            await show(Place(cluster.url, cluster.kubeconfig), files, began, check=check)
        finally:
            await cluster.close()


def real(files: list[Path], *, check: bool) -> None:
    with shown() as tell:
        find(tell)
    began = time.monotonic()  # what was fetched or compiled is there from now on
    with ControlPlane() as plane:
        place = Place(plane.url, plane.kubeconfig)
        uvloop.run(show(place, files, began, check=check, defined=plane.restart_controllers))


async def show(
    place: Place, files: list[Path], began: float, *, check: bool, defined: Callable[[], None] | None = None
) -> None:
    """Applies everything and runs the operator. `defined` is called when the kinds are there."""
    transport = await HttpTransport(connect(str(place.kubeconfig))).open()
    try:
        await apply(transport, await fitting(transport, files), defined)
        await operate(transport, place, began, check=check)
    finally:
        await transport.close()


async def fitting(transport: HttpTransport, files: list[Path]) -> list[Path]:
    """Those that can come true here: where no node is, no Pod runs."""
    answer = await transport.send(Request("GET", "/api/v1/nodes", {"limit": "1"}))
    if answer.status != 200 or msgspec.json.decode(answer.body).get("items"):
        return files
    left_out = [file for file in files if any(one.get("kind") in NEED_PODS for one in read(file))]
    if left_out:
        typer.echo(f"this cluster has no node: without {', '.join(str(file) for file in left_out)}", err=True)
    return [file for file in files if file not in left_out]


async def apply(transport: HttpTransport, files: list[Path], defined: Callable[[], None] | None) -> None:
    documents = [read(file) for file in files]
    applier = Applier(transport)
    await applier.apply(one for family in FAMILIES.values() for one in family.published())
    await applier.apply(yaml.safe_load_all(manifests([c for f in FAMILIES.values() for c in f.crds])))
    if defined is not None:
        await asyncio.to_thread(defined)  # so that garbage collection knows the new kinds at once
    for one in documents:
        await applier.apply(one)


async def operate(transport: HttpTransport, place: Place, began: float, *, check: bool) -> None:
    controllers = [one for family in FAMILIES.values() for one in family.controllers()]
    operator = Operator(World(transport, SystemClock(), Random(), "seamark-dev"), controllers, SETTINGS)
    load = connect(str(place.kubeconfig))
    page = next((f"127.0.0.1:{port}" for port in PAGE_PORTS if free("127.0.0.1", port)), "127.0.0.1:0")
    tasks = [
        asyncio.ensure_future(supervise(operator, SETTINGS)),
        asyncio.ensure_future(console.serve(page, load, lambda: None)),
    ]
    try:
        if check:
            await wait_ready(operator, began)
        else:
            address = f"http://{page}/#token={(await load()).token}"
            tasks.append(asyncio.ensure_future(live_table(operator, place, address, began)))
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def wait_ready(operator: Operator, began: float) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        examples = examples_of(operator)
        rows = [ready for _, ready, _ in examples]
        if rows and all(rows):
            break
        if time.monotonic() > deadline:
            for name in [f"{name}: {words}" for name, ready, words in examples if not ready] + operator.missing():
                typer.echo(f"not ready: {name}", err=True)
            typer.echo(f"dev: ready_s=never examples={sum(rows)}/{len(rows)}")
            raise typer.Exit(1)
        await asyncio.sleep(0.05)
    typer.echo(f"dev: ready_s={time.monotonic() - began:.1f} examples={sum(rows)}/{len(rows)}")


async def live_table(operator: Operator, place: Place, page: str, began: float) -> None:
    screen = Console()
    screen.print(f"A cluster at {place.url}, {time.monotonic() - began:.1f} s after the start. Try:")
    screen.print(f"  kubectl --kubeconfig {place.kubeconfig} get greetings -o wide -w", soft_wrap=True)
    screen.print(f"  kubectl --kubeconfig {place.kubeconfig} delete configmap hello", soft_wrap=True)
    if asking := give_names():
        screen.print(f"  {asking}", soft_wrap=True)
    screen.print(f"The console: {page}", soft_wrap=True)
    screen.print("Ctrl-C ends it and leaves nothing behind.\n")
    with Live(console=screen, refresh_per_second=4) as live:
        while True:
            live.update(table(operator))
            await asyncio.sleep(0.25)


def table(operator: Operator) -> Table:
    shown_table = Table("object", "ready", "says", box=None, pad_edge=False)
    for name, ready, words in examples_of(operator):
        shown_table.add_row(name, "[green]True[/]" if ready else "[yellow]not yet[/]", words)
    return shown_table


def examples_of(operator: Operator) -> list[tuple[str, bool, str]]:
    """Each object that has a summary: its name, whether that is True for its present generation, and in what words."""
    rows = []
    for controller in operator.loop.waker.controllers.values():
        summed_up = isinstance(controller, Controller) and any(one.summary for one in controller.status.conditions)
        if isinstance(controller, Controller) and summed_up:  # of Services, say, nobody sums up more than the address
            for obj in sorted(operator.informers[controller.kind].cache, key=lambda one: one.key):
                said = summary(controller, obj)
                true = said is not None and said.status == TRUE and said.observed_generation == obj.metadata.generation
                rows.append((f"{controller.kind.RESOURCE.kind} {obj.key}", true, said.message if said else ""))
    return rows


def summary(controller: Controller[Any], obj: Any) -> Condition | None:
    names = [condition.name for condition in controller.status.conditions if condition.summary]
    conditions = (getattr(obj.status, "conditions", None) or ()) if obj.status is not None else ()
    return next((condition for condition in conditions if condition.type in names), None)
