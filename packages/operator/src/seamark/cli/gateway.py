"""seamark gateway: the Gateway API's own kinds, and Envoy for this machine."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from seamark.cli.access import cluster
from seamark.families.gateway.settings import WITH_THE_OPERATOR, loaded, state_directory
from seamark.gatewayapi.bundle import definitions, keeps
from seamark.lifecycle.definitions import DEFINITION, definition_of
from seamark_edge.dataplane.envoy import binary
from seamark_edge.dataplane.envoy.directories import directories
from seamark_edge.dataplane.envoy.state import StateDirectory
from seamark_runtime.client import Client
from seamark_runtime.errors import UserError
from seamark_runtime.transport import HttpRequest

app = typer.Typer(no_args_is_help=True, help="The Gateway API's own kinds, and Envoy for this machine.")

Channel = Annotated[str, typer.Option(help="standard, or experimental with what may still change.")]
Install = Annotated[bool, typer.Option("--install", help="Apply them; what is installed and newer stays.")]
Kubeconfig = Annotated[str, typer.Option(help="Which kubeconfig to use.")]
Context = Annotated[str, typer.Option(help="Which context of it.")]


@app.command("crds")
def crds(
    channel: Channel = "standard", install: Install = False, kubeconfig: Kubeconfig = "", context: Context = ""
) -> None:
    """Print the Gateway API's CRDs as published, ready for `kubectl apply --server-side -f -`."""
    found = definitions(channel)
    if not install:
        typer.echo(yaml.safe_dump_all(found, sort_keys=False), nl=False)
        return
    for line in asyncio.run(_install(found, kubeconfig, context)):
        typer.echo(line)


async def _install(found: list[dict[str, Any]], kubeconfig: str, context: str) -> list[str]:
    async with cluster(kubeconfig, context) as transport:
        client = Client(transport, manager="seamark")
        return [await _install_definition(client, definition) for definition in found]


async def _install_definition(client: Client, published: dict[str, Any]) -> str:
    name = published["metadata"]["name"]
    path = DEFINITION.path(name=name)
    answer = await client.transport.send(HttpRequest("GET", path, timeout=10))
    standing = definition_of(name, answer) if answer.status == 200 else {}
    installed = (standing.get("metadata") or {}).get("annotations") or {}
    if standing and keeps(installed, published["metadata"].get("annotations") or {}):
        return f"{name}: the installed one is newer and stays"
    query = {"fieldManager": "seamark", "force": "true"}
    body = yaml.safe_dump(published).encode()
    answer = await client.transport.send(
        HttpRequest("PATCH", path, query, body, "application/apply-patch+yaml", timeout=30)
    )
    if answer.status >= 300:
        raise UserError(f"{name}: the API server refused it ({answer.status})", hint="are you allowed to install CRDs?")
    return f"{name}: installed"


@app.command("envoy")
def envoy() -> None:
    """Bring the Envoy that this version is tested with into your cache."""
    typer.echo(str(binary.install()))


@app.command("stop")
def stop() -> None:
    """End the local Envoys that operators have left running: of the directory in SEAMARK_GATEWAY_STATE, or of all."""
    settings = loaded()
    if settings.gateway_state == WITH_THE_OPERATOR:
        raise UserError("gateway_state is none: local Envoys end with their operator", hint="there is nothing to do")
    named = state_directory(settings)
    found = [StateDirectory(path) for path in ([named] if named is not None else directories(os.environ))]
    ended, in_use = asyncio.run(_stop_all(found))
    typer.echo(f"{ended} ended")
    if in_use:
        names = ", ".join(str(path) for path in in_use)
        raise UserError(f"an operator runs the Envoys of {names}", hint="stop it first")


async def _stop_all(found: list[StateDirectory]) -> tuple[int, list[Path]]:
    """How many were ended, and the directories of those that an operator runs."""
    ended = {directory.path: await _stop(directory) for directory in found}
    return sum(filter(None, ended.values())), [path for path, number in ended.items() if number is None]


async def _stop(directory: StateDirectory) -> int | None:
    if not directory.acquire():
        return None
    ended = 0
    for files, _ in directory.left():
        if process := files.process():
            await process.stop(5)
            ended += 1
        files.remove()
    directory.release()
    return ended
