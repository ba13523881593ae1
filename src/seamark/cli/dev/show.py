"""The show: kinds and examples applied, the operator and the console at work, until every example answers or Ctrl-C."""

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

from seamark.api.crd import manifests
from seamark.cli import console
from seamark.cli.dev.answers import Asker
from seamark.cli.dev.examples import ENVOY, NODE, Example
from seamark.cli.dev.parts import Parts, first_free
from seamark.cli.dev.progress import Progress
from seamark.cli.dev.screen import Screen
from seamark.cli.families import FAMILIES
from seamark.cli.manifests import Applier
from seamark.cli.run import supervise
from seamark.cluster.real.users import tell_operator
from seamark.console.evidence import Here
from seamark.core.clock import SystemClock
from seamark.core.connection import connect
from seamark.core.evidence import evidence
from seamark.core.family import Family
from seamark.core.http import HttpTransport
from seamark.core.operator import Operator, World
from seamark.core.settings import Settings
from seamark.core.transport import Request

PATIENCE = 60.0
SETTINGS = Settings(leader_election=False, health_address="")
PAGE_PORTS = range(8090, 8190)  # of the console: the first that is free
HOST = "127.0.0.1"


@dataclass(frozen=True)
class Place:
    """A cluster, as a person reaches it.

    - `node` is this machine's address there, `names` its own DNS; both empty where no Pods run here.
    - `defined` is called when the kinds are there.
    - `ours`: the kubeconfig was made for this, and ends with it.
    """

    url: str
    kubeconfig: Path
    node: str = ""
    names: str = ""
    folder: Path = Path()
    defined: Callable[[], None] | None = None
    ours: bool = True


@dataclass
class Show:
    """Everything from the applied manifests on, at one place."""

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
            families = [one for one in self.families.values() if one.name != "gateway" or ENVOY in self.parts.have]
            chosen = await self._fitting(transport)
            await self._apply(transport, families, chosen, place)
            await self._operate(transport, place, families, Progress(chosen, began))
        finally:
            await self.parts.close()
            await transport.close()

    async def _fitting(self, transport: HttpTransport) -> list[Example]:
        """Those that can come true here: where no node is, no Pod runs."""
        answer = await transport.send(Request("GET", "/api/v1/nodes", {"limit": "1"}))
        if answer.status != 200 or msgspec.json.decode(answer.body).get("items"):
            self.parts.have.add(NODE)
        for one in self.examples:
            if missing := sorted(one.needs - self.parts.have):
                typer.echo(f"without the example {one.name}: there is not {' and not '.join(missing)} here", err=True)
        return [one for one in self.examples if not one.needs - self.parts.have]

    async def _apply(
        self, transport: HttpTransport, families: list[Family], chosen: list[Example], place: Place
    ) -> None:
        applier = Applier(transport)
        await applier.apply(one for family in families for one in family.published())
        await applier.apply(yaml.safe_load_all(manifests([crd for family in families for crd in family.crds])))
        if place.defined is not None:
            await asyncio.to_thread(place.defined)  # so that garbage collection knows the new kinds at once
        await applier.apply(self.parts.programs(place.kubeconfig, place.names, place.node))
        for one in chosen:
            await applier.apply(one.manifests)

    async def _operate(
        self, transport: HttpTransport, place: Place, families: list[Family], progress: Progress
    ) -> None:
        controllers = [one for family in families for one in family.controllers()]
        operator = Operator(World(transport, SystemClock(), Random(), "seamark-dev"), controllers, SETTINGS)
        load = connect(str(place.kubeconfig))
        witness = partial(Here, evidence=partial(evidence, operator))
        page = f"{HOST}:{first_free(HOST, PAGE_PORTS)}"
        asker = Asker(transport, str(place.kubeconfig), self.parts.names, place.names)
        tasks = [
            asyncio.ensure_future(supervise(operator, SETTINGS)),
            asyncio.ensure_future(console.serve(page, load, lambda: None, witness)),
            asyncio.ensure_future(progress.follow(operator, asker)),
        ]
        try:
            if self.check:
                tasks.append(asyncio.ensure_future(self._until_true(operator, progress)))
            else:
                setting = f"KUBECONFIG={place.kubeconfig}"
                if place.ours:
                    tell_operator(place.kubeconfig, f"http://{page}")
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
                for words in (*progress.left, *operator.missing()):
                    typer.echo(f"not ready: {words}", err=True)
                typer.echo(f"dev: ready_s=never examples={progress.true}/{len(progress.examples)}")
                raise typer.Exit(1)
            await asyncio.sleep(0.05)
        typer.echo(f"dev: ready_s={progress.elapsed:.1f} examples={progress.true}/{len(progress.examples)}")
