"""seamark gateway: the Gateway API's own kinds, and Envoy for this machine."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer
import yaml

from seamark.cli.access import cluster
from seamark.gatewayapi.bundle import definitions, keeps
from seamark.lifecycle.definitions import DEFINITION
from seamark_edge.dataplane.envoy import binary
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
    standing = yaml.safe_load(answer.body) if answer.status == 200 else {}
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
