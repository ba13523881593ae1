"""From Envoys as Pods to local Envoys: nothing that was made for Pods is left, and a freed port is noticed."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from seamark.families.gateway.model.names import MANAGER, OWNER_NAME, OWNER_NAMESPACE, child_name
from seamark.families.gateway.model.options import Options
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.api.meta import Key
from tests.gateway.whole import Whole, whole

NAMESPACE, PORT = "seamark-system", 18085
NAME = child_name(Key("default", "gateway"))
KINDS = ("Deployment", "DaemonSet", "Service", "ConfigMap")


def made_for_pods(kind: str, owner: str = "gateway", name: str = NAME) -> dict[str, Any]:
    labels = {"app.kubernetes.io/managed-by": MANAGER, OWNER_NAME: owner, OWNER_NAMESPACE: "default"}
    template = {"metadata": {"labels": {"app": "envoy"}}, "spec": {"containers": [{"name": "envoy", "image": "envoy"}]}}
    specs: dict[str, Any] = {
        "Service": {"ports": [{"port": 80}]},
        "Deployment": {"selector": {"matchLabels": {"app": "envoy"}}, "template": template},
    }
    specs["DaemonSet"] = specs["Deployment"]
    version = "apps/v1" if kind in ("Deployment", "DaemonSet") else "v1"
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    spec = {"spec": specs[kind]} if kind in specs else {}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **spec}


def left(scene: Whole) -> list[str]:
    resources = {"Deployment": "deployments.apps", "DaemonSet": "daemonsets.apps"}
    names = {kind: resources.get(kind, f"{kind.lower()}s") for kind in KINDS}
    return [kind for kind, resource in names.items() if scene.store.get(resource, NAMESPACE, NAME) is not None]


def test_what_was_made_for_pods_is_removed_and_nothing_else_is() -> None:
    async def test(scene: Whole) -> None:
        scene.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for kind in KINDS:
            scene.store.create(made_for_pods(kind))
        scene.store.create(made_for_pods("Service", owner="another", name="another"))
        assert set(left(scene)) == set(KINDS)
        await scene.until(lambda: left(scene) == [], "nothing is left")
        assert scene.store.get("services", NAMESPACE, "another") is not None
        await scene.served()

    whole(test, former_namespace=NAMESPACE)


def test_while_a_port_is_taken_routes_at_the_others_are_changed_and_served_all_the_time() -> None:
    async def test(scene: Whole) -> None:
        await scene.served()
        scene.route("first", matches=[{"path": {"value": "/first"}}])
        await scene.answers_so("/first", 200)
        with socket.create_server((scene.address, PORT)):
            second = {"name": "second", "port": PORT, "protocol": "HTTP"}
            first = {"name": "http", "port": 8080, "protocol": "HTTP"}
            scene.edit(Gateway, "gateway", {"spec": {"listeners": [first, second]}})
            await scene.until(lambda: "already in use" in scene.gateway().get("message", ""), "it is reported")
            scene.route("later", matches=[{"path": {"value": "/later"}}])
            await scene.answers_so("/later", 200)
            until = asyncio.get_running_loop().time() + 1.5 * Options().verify
            while asyncio.get_running_loop().time() < until:
                assert [(await scene.answers(path))[0] for path in ("/first", "/later")] == [200, 200]
                await asyncio.sleep(0.01)
        await scene.served()

    whole(test)


@pytest.mark.parametrize("held", [0.5, 8.0])
def test_a_freed_port_is_noticed_within_seconds_however_long_it_was_taken(held: float) -> None:
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("", PORT))
    holder.listen()

    async def test(scene: Whole) -> None:
        await scene.until(lambda: "already in use" in scene.gateway().get("message", ""), "it is reported")
        await asyncio.sleep(held)
        holder.close()
        freed = asyncio.get_running_loop().time()
        await scene.served()
        assert asyncio.get_running_loop().time() - freed < 10

    try:
        whole(test, listener={"name": "http", "port": PORT, "protocol": "HTTP"})
    finally:
        holder.close()
