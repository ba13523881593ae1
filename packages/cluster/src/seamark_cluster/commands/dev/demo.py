"""Applies kinds and examples, and runs the operator and the console, until every example passes or Ctrl-C."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

import msgspec
import typer
import yaml

from seamark.cli import console
from seamark.cli.families import FAMILIES
from seamark.cli.manifests import Applier
from seamark.cli.run import supervise
from seamark.console.evidence import LocalEvidence
from seamark_cluster.commands.dev.checks import Checker
from seamark_cluster.commands.dev.examples import ENVOY, NODE, Example
from seamark_cluster.commands.dev.parts import Parts, first_free
from seamark_cluster.commands.dev.progress import Progress
from seamark_cluster.commands.dev.screen import Screen
from seamark_cluster.commands.dev.servers import Servers
from seamark_cluster.real.users import record_operator_url
from seamark_runtime.api.core import Node
from seamark_runtime.api.crd import manifests
from seamark_runtime.clock import SystemClock
from seamark_runtime.connection import connect
from seamark_runtime.evidence import evidence
from seamark_runtime.family import Family
from seamark_runtime.http import HttpTransport
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from seamark_runtime.transport import HttpRequest

PATIENCE = 60.0
SETTINGS = Settings(namespace="default", health_address="")
PAGE_PORTS = range(8090, 8190)  # ports for the console: the first free one is used
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Place:
    """A cluster, and how it is reached.

    - `node` is this machine's address in it, `names` its DNS; both are empty where no Pods run on this machine.
    - `defined` is called when the CRDs are established.
    - `ours`: the kubeconfig was created for this run, and is removed after it.
    """

    url: str
    kubeconfig: Path
    node: str = ""
    names: str = ""
    folder: Path = Path()
    defined: Callable[[], None] | None = None
    ours: bool = True


@dataclass
class Demo:
    """Everything from the applied manifests on."""

    examples: list[Example]
    parts: Parts
    check: bool
    families: Mapping[str, Family] = field(default_factory=lambda: FAMILIES)

    async def at(self, place: Place, began: float) -> None:
        self.parts.serve_names()
        self.parts.look_for_envoy()
        transport = await HttpTransport(connect(str(place.kubeconfig))).open()
        try:
            if place.node:
                await self.parts.start_edge(place.node, place.folder)
            families = [
                family for family in self.families.values() if family.name != "gateway" or ENVOY in self.parts.have
            ]
            chosen = await self._fitting(transport)
            await self._apply(transport, families, chosen, place)
            await self._operate(transport, place, families, Progress(chosen, began))
        finally:
            await self.parts.close()
            await transport.close()

    async def _fitting(self, transport: HttpTransport) -> list[Example]:
        """The examples whose needs are met here: without a node, no Pod runs."""
        answer = await transport.send(HttpRequest("GET", Node.RESOURCE.path(), {"limit": "1"}))
        if answer.status != 200 or msgspec.json.decode(answer.body).get("items"):
            self.parts.have.add(NODE)
        for item in self.examples:
            if missing := sorted(item.needs - self.parts.have):
                typer.echo(f"skipping example {item.name}: it needs {' and '.join(missing)}", err=True)
        return [example for example in self.examples if not example.needs - self.parts.have]

    async def _apply(
        self, transport: HttpTransport, families: list[Family], chosen: list[Example], place: Place
    ) -> None:
        applier = Applier(transport)
        await applier.apply(kind for family in families for kind in family.published())
        await applier.apply(yaml.safe_load_all(manifests([crd for family in families for crd in family.crds])))
        if place.defined is not None:
            await asyncio.to_thread(place.defined)  # so that garbage collection knows the new kinds at once
        await applier.apply(self.parts.programs(place.kubeconfig, place.names, place.node))
        for example in chosen:
            await applier.apply(example.manifests)

    async def _operate(
        self, transport: HttpTransport, place: Place, families: list[Family], progress: Progress
    ) -> None:
        controllers = [declaration for family in families for declaration in family.controllers()]
        settings = msgspec.structs.replace(SETTINGS, families=tuple(family.name for family in families))
        operator = Operator(World(transport, SystemClock(), Random(), "seamark-dev"), controllers, settings)
        load = connect(str(place.kubeconfig))
        here = partial(LocalEvidence, evidence=partial(evidence, operator))
        page = f"{HOST}:{first_free(HOST, PAGE_PORTS)}"
        checker = Checker(transport, str(place.kubeconfig), self.parts.names, place.names)
        tasks = [
            asyncio.ensure_future(supervise(operator, SETTINGS)),
            asyncio.ensure_future(console.serve(page, load, lambda: None, here)),
            asyncio.ensure_future(progress.follow(operator, checker)),
            *([asyncio.ensure_future(Servers(transport).run())] if place.node else []),
        ]
        try:
            if self.check:
                tasks.append(asyncio.ensure_future(self._until_true(operator, progress)))
            else:
                setting = f"KUBECONFIG={place.kubeconfig}"
                if place.ours:
                    record_operator_url(place.kubeconfig, f"http://{page}")
                else:
                    setting += f" SEAMARK_OPERATOR=http://{page}"
                screen = Screen(place.url, setting, f"http://{page}/", (await load()).token)
                tasks.append(asyncio.ensure_future(screen.show(progress)))
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _until_true(self, operator: Operator, progress: Progress) -> None:
        deadline = time.monotonic() + PATIENCE
        while not progress.done:
            if time.monotonic() > deadline:
                for message in (*progress.left, *operator.missing()):
                    typer.echo(f"not ready: {message}", err=True)
                typer.echo(f"dev: ready_s=never examples={progress.true}/{len(progress.examples)}")
                raise typer.Exit(1)
            await asyncio.sleep(0.05)
        typer.echo(f"dev: ready_s={progress.elapsed:.1f} examples={progress.true}/{len(progress.examples)}")
