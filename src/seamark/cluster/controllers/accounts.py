"""Namespace → what Pods in it expect to find: the account `default`, and the cluster's authority."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.core import ConfigMap, Namespace
from seamark.api.meta import Object, ObjectMeta
from seamark.cluster.controllers.kinds import ServiceAccount
from seamark.cluster.controllers.ownership import OfNamespace
from seamark.cluster.controllers.saying import MANAGER
from seamark.core.calls import Results
from seamark.core.controller import Controller, Wanted
from seamark.core.status import Silent
from seamark.core.view import View

DEFAULT = "default"
AUTHORITY = "kube-root-ca.crt"


@dataclass(frozen=True)
class Seen:
    namespace: str
    authority: str  # its certificate; empty where nobody needs one


def desire(seen: Seen) -> Wanted:
    children: dict[str, Object] = {DEFAULT: ServiceAccount(metadata=ObjectMeta(name=DEFAULT, namespace=seen.namespace))}
    if seen.authority:
        meta = ObjectMeta(name=AUTHORITY, namespace=seen.namespace)
        children[AUTHORITY] = ConfigMap(metadata=meta, data={"ca.crt": seen.authority})
    return Wanted(children=children)


def controller(authority: str = "") -> Controller[Seen]:
    def observe(_view: View, namespace: Namespace, _results: Results) -> Seen | None:
        return None if namespace.deleting else Seen(namespace.metadata.name, authority)

    return Controller(
        name="accounts",
        kind=Namespace,
        observe=observe,
        desire=desire,
        judge=lambda _seen, _answers: None,
        status=Silent(),
        children=(ServiceAccount, ConfigMap),
        ownership=OfNamespace(DEFAULT, AUTHORITY),
        manager=MANAGER,
    )
