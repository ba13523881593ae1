"""Bindings beside tenants who forge Services, or hold those that are the operator's, on a real API server.

The rules are those of docs/spec/bindings/boundendpoint.md.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator

import pytest

from seamark.families.bindings.model.ownership import MANAGER, ROLE, TARGET, UPSTREAM, owner_labels
from seamark.families.bindings.model.targets import parse
from seamark_cluster.real.plane import ControlPlane
from seamark_runtime.api.meta import Key
from seamark_runtime.ownership import MANAGED_BY
from tests.cluster.bindings_world import Bindings, Json, installation
from tests.cluster.requests import request

EVIL = "evil.example/x"
PROMPTLY = 15.0


@pytest.fixture
def tenants(control_plane: ControlPlane) -> Iterator[tuple[str, str]]:
    names = tuple(f"{name}-{secrets.token_hex(4)}" for name in ("attacker", "victim"))
    for name in names:
        assert request(control_plane, "POST", "/api/v1/namespaces", {"metadata": {"name": name}}).code == 201
    yield names[0], names[1]
    for name in names:
        request(control_plane, "DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def world(control_plane: ControlPlane, namespace: str, tenants: tuple[str, str]) -> Iterator[Bindings]:
    with installation(control_plane, namespace, tenants[1]) as one:
        one.install()
        yield one


def forge(world: Bindings, attacker: str, url: str, role: str) -> str:
    """A Service of the attacker's with every label of the victim's, and a finalizer that never goes; gives its path."""
    labels = {**owner_labels(Key(world.home, parse(url).name)), MANAGED_BY: MANAGER, ROLE: role}
    metadata = {"name": f"forged-{role}", "labels": labels, "finalizers": [EVIL]}
    path = f"/api/v1/namespaces/{attacker}/services"
    assert request(world.plane, "POST", path, {"metadata": metadata, "spec": {"ports": [{"port": 80}]}}).code == 201
    return f"{path}/forged-{role}"


def test_forged_services_of_another_tenant_do_not_delay_an_endpoint(world: Bindings, tenants: tuple[str, str]) -> None:
    """Rules 5 and 8."""
    url, attacker = f"tcp://bound.{world.users}:9000", tenants[0]
    with world.operating():
        ident = world.agent(url)
        before = world.until_ready(url)
        forged = [forge(world, attacker, url, role) for role in (UPSTREAM, TARGET)]
        began = time.monotonic()
        world.leaves(ident)
        world.until(lambda: world.bound(url).get("metadata", {}).get("uid") != before["metadata"]["uid"], "it is gone")
        world.until(lambda: not world.target(url) and not world.upstream(url), "and its Services are")
        world.agent(url)
        world.until_ready(url)
        assert time.monotonic() - began < PROMPTLY
        assert "deletionTimestamp" not in world.get(forged[0])["metadata"], "it is no child, so it is not touched"
    for path in forged:
        world.patch(path, {"metadata": {"finalizers": []}})


@pytest.mark.parametrize("role", [UPSTREAM, TARGET])
def test_a_service_that_a_foreign_finalizer_holds_is_named_and_nothing_hangs(world: Bindings, role: str) -> None:
    """Rules 5 and 9."""
    url = f"tcp://bound.{world.users}:9000"
    place = Key(world.home, parse(url).name) if role == UPSTREAM else Key(world.users, "bound")
    path = f"/api/v1/namespaces/{place.namespace}/services/{place.name}"
    with world.operating():
        ident = world.agent(url)
        before = world.until_ready(url)
        world.patch(path, {"metadata": {"finalizers": [EVIL]}})
        world.leaves(ident)
        world.until(lambda: uid(world.bound(url)) != uid(before), "the endpoint does not wait for it", PROMPTLY)
        world.agent(url)
        reason = "UpstreamServiceCreationFailed" if role == UPSTREAM else "TargetServiceCreationFailed"
        said = world.until_condition(parse(url).name, "ServicesCreated", "False", reason)
        assert said["message"] == f"Service {place} is being deleted; it is held by the finalizer {EVIL}"
        assert world.condition(parse(url).name, "Ready")["status"] == "False"
        began = time.monotonic()
        world.patch(path, {"metadata": {"finalizers": []}})
        world.until_ready(url)
        assert time.monotonic() - began < PROMPTLY


def uid(obj: Json) -> str:
    found: str = obj.get("metadata", {}).get("uid", "")
    return found


def test_what_is_left_of_ours_in_its_own_place_is_still_removed(world: Bindings) -> None:
    """Rule 8: a target that was forgotten, and an upstream under another name, as the Go operator labelled them."""
    url = f"tcp://bound.{world.users}:9000"
    labels = {**owner_labels(Key(world.home, parse(url).name)), MANAGED_BY: MANAGER}
    left = {
        f"/api/v1/namespaces/{world.users}/services": {"type": "ExternalName", "externalName": "gone.example"},
        f"/api/v1/namespaces/{world.home}/services": {"ports": [{"port": 80}]},
    }
    for path, spec in left.items():
        body = {"metadata": {"name": "left", "labels": labels}, "spec": spec}
        assert request(world.plane, "POST", path, body).code == 201
    with world.operating():
        world.agent(url)
        world.until_ready(url)
        for path in left:
            world.until_gone(f"{path}/left", "it is removed")
