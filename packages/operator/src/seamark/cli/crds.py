"""seamark crds: the CustomResourceDefinitions of everything this program reconciles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from seamark.cli.families import FAMILIES
from seamark.lifecycle.definitions import marked
from seamark_runtime.api.crd import CRD, written
from seamark_runtime.errors import UserError

Names = Annotated[list[str] | None, typer.Argument(help="Only these, by kind, plural or short name.")]
Directory = Annotated[Path | None, typer.Option("--into", help="Write a file for each into this directory.")]


def command(crds: Sequence[CRD]) -> Callable[..., None]:
    """The command that prints these."""

    def print_crds(names: Names = None, directory: Directory = None) -> None:
        """Print the CustomResourceDefinitions, ready for `kubectl apply -f -`."""
        wanted = chosen(crds, names or ())
        if directory is None:
            typer.echo(written(marked(wanted)), nl=False)
            return
        directory.mkdir(parents=True, exist_ok=True)
        for crd in wanted:
            (directory / f"{crd.name}.yaml").write_text(written(marked([crd])))

    return print_crds


def chosen(crds: Sequence[CRD], names: Sequence[str]) -> list[CRD]:
    """Those that go by one of these names; all, if no name is given."""
    for name in names:
        if not any(_goes_by(crd, name) for crd in crds):
            known = ", ".join(crd.resource.kind for crd in crds)
            raise UserError(f"there is no kind {name}", hint=f"there are {known}")
    return [crd for crd in crds if not names or any(_goes_by(crd, name) for name in names)]


def _goes_by(crd: CRD, name: str) -> bool:
    resource = crd.resource
    return name.lower() in (resource.kind.lower(), resource.plural, crd.name, *crd.short_names)


crds = command([crd for family in FAMILIES.values() for crd in family.crds])
