"""The controllers of a cluster: owners and their dependents, deletion of a namespace, quotas."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from seamark_cluster.embedded import Settings, Store
from seamark_cluster.real.plane import ControlPlane, Options
from tests.fidelity.arena import DEFINITIONS, USERS
from tests.fidelity.differences import differences
from tests.fidelity.masks import comparable, masked
from tests.fidelity.samples import Json, definitions
from tests.fidelity.sides import Embedded, Real, Reply, Side

DEADLINE = 90.0  # seconds: a quota is counted again within some, on a busy machine
MERGE = "application/merge-patch+json"
WIDGETS = "apis/example.com/v1"
RELEASE = {"metadata": {"finalizers": None}}


class Cluster:
    """The two sides, with all their controllers."""

    def __init__(self, plane: ControlPlane) -> None:
        self.real = Real(plane)
        self.store = Embedded(USERS, Store(chance=random.Random(1), settings=Settings()))
        self.sides: tuple[Side, Side] = (self.real, self.store)
        self._numbers = itertools.count()
        for definition in definitions():
            self.both("POST", DEFINITIONS, definition)
        self.settle(f"/{WIDGETS}/widgets")

    def namespace(self) -> str:
        name = f"controlled-{next(self._numbers)}"
        self.both("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        return name

    def both(self, method: str, path: str, body: Any = None, media: str = "application/json") -> tuple[Reply, Reply]:
        return self._told(method, path, (body, body), media)

    def _told(self, method: str, path: str, bodies: tuple[Any, Any], media: str) -> tuple[Reply, Reply]:
        data = [b"" if body is None else json.dumps(body).encode() for body in bodies]
        real, store = (side.ask(method, path, {}, text, media) for side, text in zip(self.sides, data, strict=True))
        found = [] if real.code == store.code else [f"code: real={real.code} store={store.code}"]
        found += differences(_bare(comparable(real.code, real.body)), _bare(comparable(store.code, store.body)))
        assert not found, "\n".join([f"{method} {path}", *found])
        return real, store

    def dependent(self, path: str, body: Json, *owners: tuple[Reply, Reply], **more: Any) -> tuple[Reply, Reply]:
        """Creates an object with owners; each side has its own uids."""
        bodies = []
        for side in (0, 1):
            references = [_reference(owner[side].body, **more) for owner in owners]
            bodies.append({**body, "metadata": {**body["metadata"], "ownerReferences": references}})
        return self._told("POST", path, (bodies[0], bodies[1]), "application/json")

    def settle(self, path: str, again: Callable[[], None] | None = None) -> Reply:
        """Waits until both sides are equal."""
        deadline = time.monotonic() + DEADLINE
        turns = itertools.count(1)
        while True:
            if again and next(turns) % 50 == 0:
                again()
            real, store = (side.ask("GET", path, {}, b"", "") for side in self.sides)
            found = [] if real.code == store.code else [f"code: real={real.code} store={store.code}"]
            found += differences(_bare(real.body), _bare(store.body))
            if not found:
                return store
            assert time.monotonic() < deadline, "\n".join([f"GET {path} does not settle", *found])
            time.sleep(0.1)


def _bare(body: Any) -> Any:
    """Without managedFields: the store's controllers have no names."""
    shown = masked(body)
    if isinstance(shown, dict) and isinstance(shown.get("metadata"), dict):
        shown["metadata"].pop("managedFields", None)
    return shown


def _reference(owner: Json, **more: Any) -> Json:
    meta = owner["metadata"]
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"], **more}


def named(name: str, **meta: Any) -> Json:
    return {"metadata": {"name": name, **meta}}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with ControlPlane(Options()) as plane:
        made = Cluster(plane)
        yield made
        made.real.close()


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
def test_dependents_go_or_stay_with_their_owner(cluster: Cluster, policy: str) -> None:
    core = f"/api/v1/namespaces/{cluster.namespace()}"
    owner = cluster.both("POST", f"{core}/configmaps", named("owner"))
    other = cluster.both("POST", f"{core}/configmaps", named("other"))
    child = cluster.dependent(f"{core}/secrets", named("child"), owner)
    cluster.dependent(f"{core}/secrets", named("grandchild"), child)
    cluster.dependent(f"{core}/secrets", named("shared"), owner, other)
    cluster.both("DELETE", f"{core}/configmaps/owner", {"propagationPolicy": policy})
    for path in ("configmaps/owner", "secrets/child", "secrets/grandchild", "secrets/shared", "configmaps/other"):
        cluster.settle(f"{core}/{path}")
    gone = cluster.settle(f"{core}/configmaps/owner").code, cluster.settle(f"{core}/secrets/grandchild").code
    assert gone == (404, 200 if policy == "Orphan" else 404)


def test_a_blocking_dependent_is_deleted_first(cluster: Cluster) -> None:
    core = f"/api/v1/namespaces/{cluster.namespace()}"
    owner = cluster.both("POST", f"{core}/configmaps", named("owner"))
    held = named("child", finalizers=["example.com/hold"])
    cluster.dependent(f"{core}/secrets", held, owner, blockOwnerDeletion=True)
    cluster.both("DELETE", f"{core}/configmaps/owner", {"propagationPolicy": "Foreground"})
    assert "deletionTimestamp" in cluster.settle(f"{core}/secrets/child").body["metadata"]
    assert cluster.settle(f"{core}/configmaps/owner").code == 200
    for side in cluster.sides:
        side.ask("PATCH", f"{core}/secrets/child", {}, json.dumps(RELEASE).encode(), MERGE)
    assert cluster.settle(f"{core}/configmaps/owner").code == 404


def test_an_owner_is_known_by_its_uid(cluster: Cluster) -> None:
    core = f"/api/v1/namespaces/{cluster.namespace()}"
    owner = cluster.both("POST", f"{core}/configmaps", named("owner"))
    cluster.both("DELETE", f"{core}/configmaps/owner")
    cluster.both("POST", f"{core}/configmaps", named("owner"))
    cluster.dependent(f"{core}/secrets", named("child"), owner)
    assert cluster.settle(f"{core}/secrets/child").code == 404
    assert cluster.settle(f"{core}/configmaps/owner").code == 200


def test_a_custom_owner_takes_its_children_along(cluster: Cluster) -> None:
    namespace = cluster.namespace()
    widgets = f"/{WIDGETS}/namespaces/{namespace}/widgets"
    body = {"apiVersion": "example.com/v1", "kind": "Widget", **named("w"), "spec": {"color": "red"}}
    owner = cluster.both("POST", widgets, body)
    services = f"/api/v1/namespaces/{namespace}/services"
    cluster.dependent(services, {**named("s"), "spec": {"ports": [{"port": 80}]}}, owner)
    cluster.both("DELETE", f"{widgets}/w")
    assert cluster.settle(f"{services}/s").code == 404


def test_a_namespace_ends_with_everything_in_it(cluster: Cluster) -> None:
    namespace = cluster.namespace()
    path = f"/api/v1/namespaces/{namespace}"
    cluster.both("POST", f"{path}/configmaps", named("free"))
    cluster.both("POST", f"{path}/configmaps", named("held", finalizers=["example.com/hold"]))
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", **named("w"), "spec": {"color": "red"}}
    cluster.both("POST", f"/{WIDGETS}/namespaces/{namespace}/widgets", widget)
    cluster.both("DELETE", path)
    refused, _ = cluster.both("POST", f"{path}/configmaps", named("late"))
    assert refused.code == 403
    assert cluster.settle(f"{path}/configmaps/free").code == 404
    assert cluster.settle(f"/{WIDGETS}/namespaces/{namespace}/widgets/w").code == 404
    assert "deletionTimestamp" in cluster.settle(f"{path}/configmaps/held").body["metadata"]
    status = cluster.settle(path).body["status"]
    assert status["phase"] == "Terminating"
    assert any("example.com/hold" in condition["message"] for condition in status["conditions"])
    for side in cluster.sides:
        side.ask("PATCH", f"{path}/configmaps/held", {}, json.dumps(RELEASE).encode(), MERGE)
    assert cluster.settle(path).code == 404


def test_a_quota_is_counted_anew(cluster: Cluster) -> None:
    core = f"/api/v1/namespaces/{cluster.namespace()}"
    hard = {"secrets": "2", "services": "3", "count/deployments.apps": "1", "services.loadbalancers": "0"}
    cluster.both("POST", f"{core}/secrets", named("before"))
    cluster.both("POST", f"{core}/resourcequotas", {**named("q"), "spec": {"hard": hard}})
    assert cluster.settle(f"{core}/resourcequotas/q").body["status"]["used"]["secrets"] == "1"
    cluster.both("POST", f"{core}/secrets", named("second"))
    refused, _ = cluster.both("POST", f"{core}/secrets", named("third"))
    assert refused.code == 403
    balanced = {**named("s"), "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}
    assert cluster.both("POST", f"{core}/services", balanced)[0].code == 403
    cluster.both("DELETE", f"{core}/secrets/before")
    assert cluster.settle(f"{core}/resourcequotas/q").body["status"]["used"]["secrets"] == "1"
    assert cluster.both("POST", f"{core}/secrets", named("third"))[0].code == 201
    allowed = itertools.count(9)

    def allow_more() -> None:
        more = {"spec": {"hard": {"secrets": str(next(allowed))}}}
        for side in cluster.sides:
            side.ask("PATCH", f"{core}/resourcequotas/q", {}, json.dumps(more).encode(), MERGE)

    allow_more()
    counted = cluster.settle(f"{core}/resourcequotas/q", again=allow_more).body
    assert counted["status"]["hard"]["secrets"] == counted["spec"]["hard"]["secrets"]
    assert counted["status"]["used"]["secrets"] == "2"
