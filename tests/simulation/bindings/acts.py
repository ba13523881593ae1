"""What people and agents do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from seamark.families.bindings.model.targets import parse
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.names import received_path
from tests.simulation.faults import Fault

if TYPE_CHECKING:
    from tests.simulation.world import World

HOME, SHOP = "seamark-system", "shop"
BOUND = "boundendpoints.bindings.k8s.ngrok.com"
OPERATORS = "kubernetesoperators.ngrok.k8s.ngrok.com"
WEB, DATABASE, OWN, RIVAL = "http://web.shop", "tcp://web.shop:5432", "http://own.shop", "tcp://web.shop:80"
NONSENSE = "http://no.such.place"


def agent(world: World, url: str) -> None:
    world.outside.agent_holds(url, bindings=("kubernetes",))


def leave(world: World, *urls: str) -> None:
    for url in urls:
        world.outside.leave(url)


def own_service(world: World, name: str) -> None:
    if world.under(Fault.NAMESPACE) or world.store.get("services", SHOP, name) is not None:
        return
    metadata = {"name": name, "namespace": SHOP}
    spec = {"ports": [{"port": 80}], "selector": {"app": "mine"}}
    world.store.create({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec})


def delete_service(world: World, namespace: str, name: str) -> None:
    if world.store.get("services", namespace, name) is not None:
        world.store.delete("services", namespace, name)


def delete_own(world: World, name: str) -> None:
    found = world.store.get("services", SHOP, name)
    if found is not None and "app" in (found["spec"].get("selector") or {}):
        delete_service(world, SHOP, name)


def break_target(world: World) -> None:
    patch(world, f"/api/v1/namespaces/{SHOP}/services/web", {"spec": {"externalName": "evil.example.com"}})


def wipe_status(world: World, url: str) -> None:
    path = f"/apis/bindings.k8s.ngrok.com/v1alpha1/namespaces/{HOME}/boundendpoints/{parse(url).name}/status"
    patch(world, path, {"status": None})


def delete_bound(world: World, url: str) -> None:
    if world.store.get(BOUND, HOME, parse(url).name) is not None:
        world.store.delete(BOUND, HOME, parse(url).name)


def uninstall(world: World) -> None:
    if world.store.get(OPERATORS, HOME, "seamark") is not None:
        world.store.delete(OPERATORS, HOME, "seamark")


def patch(world: World, path: str, body: Any) -> None:
    request = HttpRequest(
        "PATCH", received_path(path), body=json.dumps(body).encode(), content_type="application/merge-patch+json"
    )
    answer = world.store.handle(request)
    assert isinstance(answer, Answer)
    assert answer.status in (200, 404), answer.body
