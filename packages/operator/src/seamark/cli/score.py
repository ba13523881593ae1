"""seamark score: from a Score file, as developers write it, to a Workload."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from seamark.api.score import Workload
from seamark.cli.access import cluster
from seamark.families.score.authority.roles import documents
from seamark.families.score.family import SCORE
from seamark.families.score.scorefile.conversion import read
from seamark_runtime.api.meta import Key
from seamark_runtime.client import Client
from seamark_runtime.errors import UserError

MANAGER = "score"

app = typer.Typer(no_args_is_help=True, help="From a Score file to a Workload.")

Files = Annotated[list[Path], typer.Option("--file", "-f", help="A Score file; may be given several times.")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Its namespace, if the file names none.")]
Kubeconfig = Annotated[str, typer.Option("--kubeconfig", help="Which kubeconfig to use.")]
Context = Annotated[str, typer.Option("--context", help="Which context of the kubeconfig.")]

RuntimeClasses = Annotated[
    list[str] | None, typer.Option("--runtime-class", help="A class that a foreign runtime publishes for.")
]


@app.command()
def generate(files: Files, namespace: Namespace = "") -> None:
    """Print the Workloads that Score files describe, ready for `kubectl apply -f -`."""
    manifests = [placed(read(file), namespace) for file in files]
    typer.echo(yaml.safe_dump_all(manifests, sort_keys=False, allow_unicode=True, explicit_start=True), nl=False)


@app.command()
def authority(namespace: Namespace = "score-system", runtime_classes: RuntimeClasses = None) -> None:
    """Print the accounts, roles and admission policies of the Score controllers, ready for `kubectl apply -f -`."""
    found = documents(SCORE, namespace, runtime_classes or ())
    printed = yaml.safe_dump_all(found, sort_keys=False, explicit_start=True)
    typer.echo(printed, nl=False)


@app.command()
def apply(files: Files, namespace: Namespace = "", kubeconfig: Kubeconfig = "", context: Context = "") -> None:
    """Make the Workloads that Score files describe, or change them to be so."""
    manifests = [placed(read(file), namespace, "default") for file in files]  # all are read before any is applied
    asyncio.run(apply_all(manifests, kubeconfig, context))


def placed(manifest: dict[str, Any], namespace: str, otherwise: str = "") -> dict[str, Any]:
    """In the namespace that its file or the command line names; both must agree."""
    metadata = manifest["metadata"]
    own = metadata.get("namespace", "")
    if own and namespace and own != namespace:
        raise UserError(f"{metadata['name']} is of the namespace {own}, not {namespace}")
    name = own or namespace or otherwise
    return manifest | {"metadata": metadata | ({"namespace": name} if name else {})}


async def apply_all(manifests: list[dict[str, Any]], kubeconfig: str, context: str) -> None:
    async with cluster(kubeconfig, context) as transport:
        client = Client(transport, manager=MANAGER)
        for manifest in manifests:
            key = Key(manifest["metadata"]["namespace"], manifest["metadata"]["name"])
            applied = await client.apply(Workload, key, manifest)
            typer.echo(f"workload {key} is at generation {applied.metadata.generation}")
