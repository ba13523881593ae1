"""A user with exactly the rights that follow from what controllers declare, for as long as they run.

So everything that is tried on a real API server is tried under the generated roles.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

from seamark_cluster.real.audit import Entry
from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.controller import Declaration
from seamark_runtime.rbac import Grant, by_namespace, grants, leader_grants, rules
from tests.cluster.requests import eventually, request

RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
OPERATOR = "operator"


def needed(declared: Iterable[Declaration], home: str = "") -> set[Grant]:
    """What controllers need; with a home, also a Lease there."""
    leases = {grant._replace(namespace=home) for grant in leader_grants()} if home else set()
    return {grant for one in declared for grant in grants(one)} | leases


@contextmanager
def granted(plane: ControlPlane, user: str, found: set[Grant]) -> Iterator[None]:
    name = f"{user}-{secrets.token_hex(4)}"
    made = [path for where, part in by_namespace(found).items() for path in _bind(plane, user, name, where, part)]
    try:
        for part in by_namespace(found).values():
            grant = max(part)
            eventually(lambda grant=grant: may(plane, user, grant), f"{user} may {grant}")  # type: ignore[misc]
        yield
    finally:
        for path in made:
            request(plane, "DELETE", path)


def _bind(plane: ControlPlane, user: str, name: str, where: str, part: set[Grant]) -> Iterator[str]:
    if where:
        request(plane, "POST", "/api/v1/namespaces", {"metadata": {"name": where}})  # most have it already
    kind = "Role" if where else "ClusterRole"
    place = f"{RBAC}/namespaces/{where}" if where else RBAC
    group = "rbac.authorization.k8s.io"
    role: dict[str, Any] = {"metadata": {"name": name}, "rules": rules(part)}
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": kind, "name": name},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }
    for plural, body in ((f"{kind.lower()}s", role), (f"{kind.lower()}bindings", binding)):
        made = request(plane, "POST", f"{place}/{plural}", body)
        assert made.code == 201, made.body
        yield f"{place}/{plural}/{name}"


def may(plane: ControlPlane, user: str, grant: Grant) -> bool:
    resource, _, subresource = grant.resource.partition("/")
    asked = {"group": grant.group, "verb": grant.verb, "namespace": grant.namespace}
    body = {"spec": {"user": user, "resourceAttributes": {**asked, "resource": resource, "subresource": subresource}}}
    return bool(request(plane, "POST", REVIEWS, body).body["status"]["allowed"])


def used(entries: Iterable[Entry], user: str) -> set[Grant]:
    """What a client did: as a right in that namespace and as one for everywhere, on that object and on all.

    An apply by which an object came to be took the right to create it, too.
    """
    found = set()
    for entry in entries:
        if entry.user == user and entry.resource:
            resource = entry.resource + (f"/{entry.subresource}" if entry.subresource else "")
            places = product({"", entry.namespace}, {"", entry.name})
            verbs = ("patch", "create") if entry.verb == "patch" and entry.code == 201 else (entry.verb,)
            found |= {Grant(entry.group, resource, verb, *place) for place, verb in product(places, verbs)}
    return found


def refused(entries: Iterable[Entry], user: str) -> list[str]:
    return [f"{entry.verb} {entry.uri}" for entry in entries if entry.user == user and not entry.allowed]
