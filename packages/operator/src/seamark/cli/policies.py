"""seamark policies: admission policies for status fields, generated from what the families declare."""

from __future__ import annotations

from typing import Annotated, Any

import typer
import yaml

from seamark.cli.families import FAMILIES, chosen
from seamark.cli.roles import Names, Namespace
from seamark_runtime.controller import Declaration
from seamark_runtime.family import Family
from seamark_runtime.statuspolicy import policies

Account = Annotated[
    str, typer.Option(help="The operator's ServiceAccount; {family} stands for the name of each family.")
]


def command(names: Names = None, namespace: Namespace = "seamark-system", account: Account = "seamark") -> None:
    """Print ValidatingAdmissionPolicies: only the operator may change the status fields of these families."""
    documents = status_policies(chosen(names or list(FAMILIES)), namespace, account)
    typer.echo("---\n".join(yaml.safe_dump(document, sort_keys=False) for document in documents), nl=False)


def status_policies(families: tuple[Family, ...], namespace: str, account: str = "seamark") -> list[dict[str, Any]]:
    found: dict[str, tuple[Declaration, ...]] = {}
    for family in families:
        user = f"system:serviceaccount:{namespace}:{account.replace('{family}', family.name)}"
        found[user] = (*found.get(user, ()), *family.controllers())
    return policies(found)
