"""What administrators do to the cluster, done in the store: its own rules refuse the operator then."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from seamark_cluster.embedded import Store, User
from seamark_runtime import rbac
from seamark_runtime.clock import timestamp
from seamark_runtime.controller import Declaration
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.names import received_path

HOME = "seamark-system"
OPERATOR = User(
    f"system:serviceaccount:{HOME}:seamark", ("system:serviceaccounts", f"system:serviceaccounts:{HOME}"), "operator"
)
NOT_FOR_PEOPLE = ("kube-system", "kube-public", "kube-node-lease", HOME)
QUOTA = "nothing-more"
ROLES = "rbac.authorization.k8s.io"


class Administration:
    """The operator's rights, the quotas and the namespaces of one cluster.

    - The operator may do exactly what its controllers declare, until that is withdrawn.
    - A quota allows nothing further of anything that the operator makes.
    - A namespace that is deleted takes nothing new, goes when it is empty, and is made again.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._grants: set[rbac.Grant] = set()
        self._roles: list[dict[str, Any]] = []

    def install(self, declared: Iterable[Declaration]) -> None:
        self._grants = {grant for one in declared for grant in rbac.grants(one)}
        subject = {"kind": "ServiceAccount", "name": "seamark", "namespace": HOME}
        for namespace, found in rbac.by_namespace(self._grants).items():
            kind = "Role" if namespace else "ClusterRole"
            place = {"name": "seamark", **({"namespace": namespace} if namespace else {})}
            head = {"apiVersion": f"{ROLES}/v1", "metadata": place}
            if namespace and self._store.get("namespaces", "", namespace) is None:
                self._store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            self._roles.append({**head, "kind": kind, "rules": rbac.rules(found)})
            reference = {"apiGroup": ROLES, "kind": kind, "name": "seamark"}
            self._roles.append({**head, "kind": f"{kind}Binding", "roleRef": reference, "subjects": [subject]})
        self.give_back()

    # ---- rights

    def withdraw(self) -> None:
        self._store.withdraw(OPERATOR)

    def give_back(self) -> None:
        """Also after a restore, into a moment at which there were none."""
        for one in self._roles:
            place = one["metadata"]
            plural = f"{one['kind'].lower()}s.{ROLES}"
            self._ensure_namespace(place.get("namespace", ""))
            if self._store.get(plural, place.get("namespace", ""), place["name"]) is None:
                self._store.create(one)

    def _ensure_namespace(self, name: str) -> None:
        if name and self._store.get("namespaces", "", name) is None:
            self._store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    # ---- quotas

    def limit(self) -> None:
        made = {(grant.resource, grant.group) for grant in self._grants if grant.verb == "create"}
        counted = {f"count/{plural}.{group}" if group else f"count/{plural}" for plural, group in made}
        hard = dict.fromkeys(sorted(counted), "0")
        for namespace in self._namespaces():
            if self._store.get("resourcequotas", namespace, QUOTA) is not None or self._is_going(namespace):
                continue
            body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": QUOTA, "namespace": namespace}}
            self._store.create({**body, "spec": {"hard": hard}})
            status = {**body, "spec": {"hard": hard}, "status": {"hard": hard, "used": hard}}
            path = f"/api/v1/namespaces/{namespace}/resourcequotas/{QUOTA}/status"
            answer = self._store.handle(HttpRequest("PUT", received_path(path), body=json.dumps(status).encode()))
            assert isinstance(answer, Answer)
            assert answer.status == 200, answer.body

    def lift(self) -> None:
        for namespace in self._namespaces():
            if self._store.get("resourcequotas", namespace, QUOTA) is not None:
                self._store.delete("resourcequotas", namespace, QUOTA)

    # ---- namespaces

    def _namespaces(self) -> list[str]:
        names = [obj["metadata"]["name"] for obj in self._store.objects("namespaces")]
        return [name for name in names if name not in NOT_FOR_PEOPLE]

    def _is_going(self, name: str) -> bool:
        namespace = self._store.get("namespaces", "", name)
        return namespace is not None and bool(namespace["metadata"].get("deletionTimestamp"))

    @property
    def ending(self) -> bool:
        return any(self._is_going(name) for name in self._namespaces())

    def end_namespaces(self) -> None:
        for name in self._namespaces():
            namespace = self._store.get("namespaces", "", name)
            if namespace is not None and not self._is_going(name):
                meta = {**namespace["metadata"], "deletionTimestamp": timestamp(self._store.clock.wall())}
                going = {**namespace, "metadata": meta, "status": {"phase": "Terminating"}}
                self._store.revisions.write("namespaces", ("", name), going)

    def renew_namespaces(self) -> None:
        """Those that are empty by now are deleted and created again; without finalizers as the controller does it."""
        for name in self._namespaces():
            if self._is_going(name) and not self._left(name):
                self._store.revisions.write("namespaces", ("", name), None)
                self._store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def _left(self, name: str) -> bool:
        left = False
        for resource in self._store.revisions.resources():
            for key, obj in list(self._store.revisions.objects(resource)):
                if key[0] == name:
                    if not obj["metadata"].get("deletionTimestamp"):
                        self._store.delete(resource, *key)
                    left = left or self._store.get(resource, *key) is not None
        return left
