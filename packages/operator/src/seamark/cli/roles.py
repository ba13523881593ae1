"""seamark roles: what the operator may do, generated from what its families declare."""

from __future__ import annotations

from typing import Annotated, Any

import typer
import yaml

from seamark.cli.families import FAMILIES, chosen
from seamark.lifecycle.parts import console_grants, evidence_grants
from seamark_runtime.family import Family
from seamark_runtime.rbac import Grant, by_namespace, grants, leader_grants, rules

Names = Annotated[list[str] | None, typer.Argument(help="Only these families; all if none is named.")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="The operator's own namespace.")]

RBAC = "rbac.authorization.k8s.io"

Console = Annotated[bool, typer.Option("--console", help="With the rights of the console that the operator serves.")]
Evidence = Annotated[bool, typer.Option("--evidence", help="With the rights for serving evidence to a console.")]


def roles(
    names: Names = None, namespace: Namespace = "seamark-system", console: Console = False, evidence: Evidence = False
) -> None:
    """Print a ServiceAccount with exactly the rights that these families need, ready for `kubectl apply -f -`."""
    families = chosen(names or list(FAMILIES))
    documents = [account(namespace), *(role for family in families for role in family_role(family, namespace))]
    documents += leader_role(namespace)
    documents += console_role(namespace) if console else []
    documents += role("seamark-evidence", evidence_grants(), "", namespace) if evidence else []
    typer.echo("---\n".join(yaml.safe_dump(document, sort_keys=False) for document in documents), nl=False)


def account(namespace: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "seamark", "namespace": namespace}}


def family_role(family: Family, namespace: str) -> list[dict[str, Any]]:
    """A ClusterRole for what it needs everywhere, a Role in each namespace where it needs something there only."""
    found = by_namespace(grant for controller in family.controllers() for grant in grants(controller))
    return [document for where in found for document in role(f"seamark-{family.name}", found[where], where, namespace)]


def console_role(namespace: str) -> list[dict[str, Any]]:
    """It watches what it shows, and reviews the tokens and rights of its users."""
    return role("seamark-console", console_grants(), "", namespace)


def leader_role(namespace: str) -> list[dict[str, Any]]:
    return role("seamark-leader", leader_grants(), namespace, namespace)


def role(name: str, found: set[Grant], where: str, account_namespace: str) -> list[dict[str, Any]]:
    """A role in the namespace `where` (everywhere if empty), bound to the account in `account_namespace`."""
    kind = "Role" if where else "ClusterRole"
    metadata = {"name": name} | ({"namespace": where} if where else {})
    made = {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules(found)}
    bound = {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "seamark", "namespace": account_namespace}],
    }
    return [made, bound]
