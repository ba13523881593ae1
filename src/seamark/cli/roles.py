"""seamark roles: what the operator may do, generated from what its families declare."""

from __future__ import annotations

from typing import Annotated, Any

import typer
import yaml

from seamark.cli.families import FAMILIES, chosen
from seamark.core.family import Family
from seamark.core.rbac import grants, leader_grants, rules

Names = Annotated[list[str] | None, typer.Argument(help="Only these families; all if none is named.")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="The operator's own namespace.")]

RBAC = "rbac.authorization.k8s.io"


def roles(names: Names = None, namespace: Namespace = "seamark-system") -> None:
    """Print a ServiceAccount with exactly the rights that these families need, ready for `kubectl apply -f -`."""
    families = chosen(names or list(FAMILIES))
    documents = [account(namespace), *(role for family in families for role in family_role(family, namespace))]
    documents += leader_role(namespace)
    typer.echo("---\n".join(yaml.safe_dump(document, sort_keys=False) for document in documents), nl=False)


def account(namespace: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "seamark", "namespace": namespace}}


def family_role(family: Family, namespace: str) -> list[dict[str, Any]]:
    name = f"seamark-{family.name}"
    found = {grant for controller in family.controllers() for grant in grants(controller)}
    role = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules(found)}
    return [role, binding("ClusterRole", name, namespace)]


def leader_role(namespace: str) -> list[dict[str, Any]]:
    metadata = {"name": "seamark-leader", "namespace": namespace}
    role = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": rules(leader_grants())}
    return [role, binding("Role", "seamark-leader", namespace)]


def binding(kind: str, name: str, namespace: str) -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": namespace} if kind == "Role" else {})
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "seamark", "namespace": namespace}],
    }
