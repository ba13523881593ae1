"""seamark score: from a Score file, as developers write it, to a Workload."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from seamark.api.score import Workload
from seamark.cli.access import cluster
from seamark.families.score.authority.roles import documents
from seamark.families.score.family import SCORE
from seamark.families.score.scorefile.conversion import ScoreFileError, Supplied, read, read_overrides
from seamark_runtime.api.meta import Key
from seamark_runtime.client import Client
from seamark_runtime.errors import UserError

MANAGER = "score"

app = typer.Typer(no_args_is_help=True, help="From a Score file to a Workload.")

Files = Annotated[list[Path], typer.Option("--file", "-f", help="A Score file; - is the standard input.")]
Image = Annotated[str, typer.Option("--image", "-i", help="The image of containers whose image is '.'.")]
Overrides = Annotated[Path | None, typer.Option("--overrides-file", help="A file that is merged into the Score file.")]
Properties = Annotated[
    list[str] | None,
    typer.Option("--override-property", help="PATH=YAML sets a value, PATH= removes it."),
]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Its namespace, if the file names none.")]
Kubeconfig = Annotated[str, typer.Option("--kubeconfig", help="Which kubeconfig to use.")]
Context = Annotated[str, typer.Option("--context", help="Which context of the kubeconfig.")]

RuntimeClasses = Annotated[
    list[str] | None, typer.Option("--runtime-class", help="A class that a foreign runtime publishes for.")
]


@app.command()
def generate(
    files: Files,
    namespace: Namespace = "",
    image: Image = "",
    overrides_file: Overrides = None,
    override_property: Properties = None,
) -> None:
    """Print the Workloads that Score files describe, ready for `kubectl apply -f -`."""
    found = described(files, image, overrides_file, override_property or ())
    manifests = [placed(manifest, namespace) for manifest in found]
    typer.echo(yaml.safe_dump_all(manifests, sort_keys=False, allow_unicode=True, explicit_start=True), nl=False)


@app.command()
def authority(namespace: Namespace = "score-system", runtime_classes: RuntimeClasses = None) -> None:
    """Print the accounts, roles and admission policies of the Score controllers, ready for `kubectl apply -f -`."""
    found = documents(SCORE, namespace, runtime_classes or ())
    printed = yaml.safe_dump_all(found, sort_keys=False, explicit_start=True)
    typer.echo(printed, nl=False)


@app.command()
def apply(  # noqa: PLR0913, PLR0917  one parameter per option
    files: Files,
    namespace: Namespace = "",
    image: Image = "",
    overrides_file: Overrides = None,
    override_property: Properties = None,
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Make the Workloads that Score files describe, or change them to be so."""
    found = described(files, image, overrides_file, override_property or ())  # all are read before any is applied
    manifests = [placed(manifest, namespace, "default") for manifest in found]
    asyncio.run(apply_all(manifests, kubeconfig, context))


def described(
    files: Sequence[Path], image: str, overrides_file: Path | None, properties: Sequence[str]
) -> list[dict[str, Any]]:
    """The Workloads of all files. What is supplied for one file can't be meant for several."""
    given = {"--image": image, "--overrides-file": overrides_file, "--override-property": properties}
    for option, value in given.items():
        if value and len(files) > 1:
            raise UserError(f"{option} is for one Score file, and there are {len(files)}", hint="apply them one by one")
    overrides = read_overrides(overrides_file) if overrides_file is not None else {}
    supplied = Supplied(image, overrides, properties, os.environ)
    manifests = [read(file, supplied) for file in files]
    names: dict[str, Path] = {}
    for file, manifest in zip(files, manifests, strict=True):
        name = manifest["metadata"]["name"]
        if (other := names.setdefault(name, file)) != file or files.count(file) > 1:
            raise ScoreFileError(f"{file}: metadata.name: {name} is there twice, in {other}, too")
    return manifests


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
