"""Namespace → what its Pods need: the ServiceAccount `default`, and the cluster's CA certificate."""

from __future__ import annotations

from dataclasses import dataclass

from seamark_cluster.controllers.workload.kinds import ServiceAccount
from seamark_cluster.controllers.workload.ownership import OfNamespace
from seamark_cluster.controllers.workload.status import MANAGER
from seamark_runtime.api.core import ConfigMap, Namespace
from seamark_runtime.api.meta import Object, ObjectMeta
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Wanted, Writes
from seamark_runtime.status import NoStatus
from seamark_runtime.view import View

DEFAULT = "default"
AUTHORITY = "kube-root-ca.crt"


@dataclass(frozen=True)
class Seen:
    namespace: str
    authority: str  # the CA certificate; empty for none


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
        status=NoStatus(),
        writes=Writes(children=(ServiceAccount, ConfigMap), ownership=OfNamespace(DEFAULT, AUTHORITY), manager=MANAGER),
    )
