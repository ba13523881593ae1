"""Admission of a write: namespace lifecycle, addresses, policies, quotas."""

from __future__ import annotations

from seamark_cluster.embedded.builtin.addresses import Addresses
from seamark_cluster.embedded.builtin.objects import admit_node
from seamark_cluster.embedded.builtin.workloads import admit_claim, admit_pod
from seamark_cluster.embedded.calls import Call
from seamark_cluster.embedded.machinery.errors import ApiError, Json, forbidden, not_found
from seamark_cluster.embedded.machinery.revisions import Revisions
from seamark_cluster.embedded.policies import Policies
from seamark_cluster.embedded.quota import Quotas

PROTECTED = ("default", "kube-system", "kube-public")


class Chain:
    """The admission plugins of this store, in the order of the API server's default plugins."""

    def __init__(self, revisions: Revisions, addresses: Addresses) -> None:
        self._revisions = revisions
        self._addresses = addresses
        self._policies = Policies(revisions)
        self.quotas = Quotas(revisions)

    def mutate(self, call: Call, new: Json, old: Json | None) -> None:
        if old is None and call.kind.names.namespaced:
            self._check_namespace(call, new["metadata"].get("name", ""))
        if call.kind.storage == "pods" and not call.subresource:
            admit_pod(new, old)
        if old is None and call.kind.storage == "nodes":
            admit_node(new)
        if old is None and call.kind.storage == "persistentvolumeclaims":
            admit_claim(new)

    def validate(self, call: Call, new: Json | None, old: Json | None) -> None:
        if new is None and call.kind.storage == "namespaces" and call.name in PROTECTED:
            raise forbidden("", "namespaces", call.name, "this namespace may not be deleted")
        self._policies.check(call, new, old)
        if new is not None:
            self.quotas.check(call, new, old)

    def allocate(self, call: Call, new: Json, old: Json | None) -> None:
        if call.kind.storage == "services":
            self._addresses.assign(new, old)

    def _check_namespace(self, call: Call, name: str) -> None:
        namespace = self._revisions.get("namespaces", ("", call.namespace))
        if namespace is None:
            raise not_found("", "namespaces", call.namespace)
        if namespace["status"].get("phase") == "Terminating":
            raise _terminating(call, name)


def _terminating(call: Call, name: str) -> ApiError:
    names = call.kind.names
    why = f"unable to create new content in namespace {call.namespace} because it is being terminated"
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {call.namespace} is being terminated",
        "field": "metadata.namespace",
    }
    return forbidden(names.group, names.plural, name, why, [cause])
