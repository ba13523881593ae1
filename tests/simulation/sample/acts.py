"""What people, and other programs, do to the cluster. What an act is about may be gone: then it does nothing."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from seamark_cluster.embedded.machinery.errors import ApiError
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.names import received_path
from tests.simulation.faults import Fault

if TYPE_CHECKING:
    from tests.simulation.world import World

GREETINGS = "greetings.sample.seamark.dev"
NAMESPACE = "default"
ROOT = f"/apis/sample.seamark.dev/v1alpha1/namespaces/{NAMESPACE}/greetings"
KEEPER = "harbour.example/keeper"  # a foreign finalizer
AUDITOR = "auditor"  # a foreign field manager
IN_A_PASS = 0.005  # seconds after a change at which the operator is in the middle of its work
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


def create(world: World, name: str, *, kept: bool = False, **spec: str) -> None:
    if world.under(Fault.NAMESPACE):
        return  # the API server would refuse it
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": NAMESPACE,
        "annotations": {"team": "harbour"},
        "labels": {"part-of": "port"},
    }
    if kept:
        metadata["finalizers"] = [KEEPER]
    world.store.create(
        {"apiVersion": "sample.seamark.dev/v1alpha1", "kind": "Greeting", "metadata": metadata, "spec": spec}
    )


def edit(world: World, name: str, **spec: str) -> None:
    patch(world, f"{ROOT}/{name}", {"spec": spec})


def edit_twice(world: World, name: str, text: str) -> None:
    """The second edit comes while the operator works on the first, right before it writes that."""
    edit(world, name, text=f"not yet {text}")
    asyncio.get_running_loop().call_later(IN_A_PASS, lambda: edit(world, name, text=text))


def surprise(world: World, name: str) -> None:
    """A ConfigMap is deleted by hand while the operator writes the status of its owner; and again when it is back."""
    loop = asyncio.get_running_loop()
    wipe_status(world, name)
    world.intentions += 1

    def first() -> None:
        delete_config_map(world, name)
        loop.call_later(IN_A_PASS, once_more, IN_A_PASS)

    def once_more(pause: float) -> None:
        collect_garbage(world)
        greeting = world.store.get(GREETINGS, NAMESPACE, name)
        config_map = world.store.get("configmaps", NAMESPACE, name)
        if greeting is not None and (config_map is None or greeting["metadata"]["uid"] not in owners(config_map)):
            loop.call_later(pause, once_more, min(1.0, pause * 1.3))
            return
        world.intentions -= 1
        world.act("and once more")
        delete_config_map(world, name)

    loop.call_later(IN_A_PASS / 2, first)


def delete(world: World, name: str) -> None:
    if world.store.get(GREETINGS, NAMESPACE, name) is not None:
        world.store.delete(GREETINGS, NAMESPACE, name)


def recreate(world: World, name: str, text: str, board: str) -> None:
    """Deletes it, and makes it again as soon as the name is free: at once where nothing holds it."""
    delete(world, name)
    world.intentions += 1

    def again() -> None:
        found = world.store.get(GREETINGS, NAMESPACE, name)
        if found is not None and "deletionTimestamp" in found["metadata"]:
            asyncio.get_running_loop().call_later(0.05, again)
            return
        world.intentions -= 1
        if found is None:  # otherwise the past came back, and it was never deleted
            world.act("the name is free: it is created again")
            create(world, name, text=text, board=board)

    again()


def release(world: World, name: str, uid: str) -> None:
    """The owner of the other finalizer removes it."""
    found = world.store.get(GREETINGS, NAMESPACE, name)
    if found is None or found["metadata"]["uid"] != uid or "deletionTimestamp" not in found["metadata"]:
        return
    finalizers = [one for one in found["metadata"].get("finalizers") or () if one != KEEPER]
    patch(world, f"{ROOT}/{name}", {"metadata": {"finalizers": finalizers}})


def wipe_status(world: World, name: str) -> None:
    patch(world, f"{ROOT}/{name}/status", {"status": None})


def mark(world: World) -> None:
    """Others put their own words on our objects, and on our children."""
    marks = {"labels": {"tier": "gold"}, "annotations": {"seen-by": "auditor"}}
    for name in ("plain", "kept"):
        patch(world, f"{ROOT}/{name}", {"metadata": marks})
        body = {"metadata": marks, "binaryData": {"stamp": "aGFyYm91cg=="}}
        patch(world, f"/api/v1/namespaces/{NAMESPACE}/configmaps/{name}", body)


def audit(world: World, name: str) -> None:
    """Another controller says something of its own in the same status."""
    word = {
        "type": "Audited",
        "status": "True",
        "reason": "Looked",
        "message": "by hand",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": 1,
    }
    body = {"apiVersion": "sample.seamark.dev/v1alpha1", "kind": "Greeting", "metadata": {"name": name}}
    patch(world, f"{ROOT}/{name}/status", {**body, "status": {"conditions": [word]}}, APPLY)


def foreign_config_map(world: World, name: str, text: str) -> None:
    if world.under(Fault.NAMESPACE):
        return
    metadata = {"name": name, "namespace": NAMESPACE}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}}
    world.intentions += 1

    def attempt() -> None:
        """A quota holds for people, too: they try again."""
        try:
            world.store.create(body)
        except ApiError as refusal:
            if refusal.reason == "Forbidden":
                asyncio.get_running_loop().call_later(1.0, attempt)
                return
        world.intentions -= 1

    attempt()


def delete_config_map(world: World, name: str) -> None:
    if world.store.get("configmaps", NAMESPACE, name) is not None:
        world.store.delete("configmaps", NAMESPACE, name)


def edit_config_map(world: World, name: str, text: str) -> None:
    patch(world, f"/api/v1/namespaces/{NAMESPACE}/configmaps/{name}", {"data": {"text": text, "note": "by hand"}})


def delete_all(world: World) -> None:
    for obj in list(world.store.objects(GREETINGS)):
        delete(world, obj["metadata"]["name"])


def empty_namespace(world: World) -> None:
    """What the namespace controller does."""
    delete_all(world)
    for obj in list(world.store.objects("configmaps")):
        delete_config_map(world, obj["metadata"]["name"])


def collect_garbage(world: World) -> None:
    """What kube-controller-manager does: children of an owner that is gone go, too."""
    alive = {obj["metadata"]["uid"] for obj in world.store.objects(GREETINGS)}
    for obj in list(world.store.objects("configmaps")):
        if owners(obj) and not alive & set(owners(obj)):
            delete_config_map(world, obj["metadata"]["name"])


def patch(world: World, path: str, body: Any, content_type: str = MERGE) -> None:
    query = {"fieldManager": AUDITOR} if content_type == APPLY else {}
    answer = world.store.handle(
        HttpRequest(
            "PATCH", received_path(path), query=query, body=json.dumps(body).encode(), content_type=content_type
        )
    )
    assert isinstance(answer, Answer)
    assert answer.status in (200, 404), answer.body


def owners(obj: Any) -> list[str]:
    return [ref["uid"] for ref in ((obj or {}).get("metadata") or {}).get("ownerReferences") or ()]
