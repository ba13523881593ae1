"""What people do to Services and policies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.names import received_path
from tests.simulation.faults import Fault

if TYPE_CHECKING:
    from tests.simulation.world import World

SERVICES = "services"
AGENTS, CLOUDS = "agentendpoints.ngrok.k8s.ngrok.com", "cloudendpoints.ngrok.k8s.ngrok.com"
POLICIES, DOMAINS = "ngroktrafficpolicies.ngrok.k8s.ngrok.com", "domains.ingress.k8s.ngrok.com"
NAMESPACE = "default"
URL, STRATEGY, POLICY = (f"k8s.ngrok.com/{name}" for name in ("url", "mapping-strategy", "traffic-policy"))
DENY = {"on_tcp_connect": [{"actions": [{"type": "deny"}]}]}


def serve(world: World, name: str, annotations: dict[str, str] | None = None, *ports: int) -> None:
    if world.under(Fault.NAMESPACE) or world.store.get(SERVICES, NAMESPACE, name) is not None:
        return
    world.store.create(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations or {}},
            "spec": {"type": "LoadBalancer", "loadBalancerClass": "ngrok", "ports": listed(*(ports or (80,)))},
        }
    )


def listed(*ports: int) -> list[dict[str, Any]]:
    return [{"name": f"p{port}", "port": port, "protocol": "TCP"} for port in ports]


def annotate(world: World, name: str, **annotations: str | None) -> None:
    said = {f"k8s.ngrok.com/{key.replace('_', '-')}": value for key, value in annotations.items()}
    patch(world, f"/api/v1/namespaces/{NAMESPACE}/services/{name}", {"metadata": {"annotations": said}})


def change(world: World, name: str, **spec: Any) -> None:
    patch(world, f"/api/v1/namespaces/{NAMESPACE}/services/{name}", {"spec": spec})


def policy(world: World, name: str, document: dict[str, Any]) -> None:
    if world.under(Fault.NAMESPACE):
        return
    group = "ngrok.k8s.ngrok.com/v1alpha1"
    if world.store.get(POLICIES, NAMESPACE, name) is not None:
        path = f"/apis/{group}/namespaces/{NAMESPACE}/ngroktrafficpolicies/{name}"
        patch(world, path, {"spec": {"policy": {**dict.fromkeys(("on_tcp_connect", "bad")), **document}}})
        return
    metadata = {"name": name, "namespace": NAMESPACE}
    world.store.create(
        {"apiVersion": group, "kind": "NgrokTrafficPolicy", "metadata": metadata, "spec": {"policy": document}}
    )


def edit_endpoint(world: World, service: str) -> None:
    """A user changes an endpoint of a Service by hand."""
    for obj in world.store.objects(AGENTS):
        if obj["metadata"]["name"].startswith(f"{service}-"):
            path = f"/apis/ngrok.k8s.ngrok.com/v1alpha1/namespaces/{NAMESPACE}/agentendpoints/{obj['metadata']['name']}"
            patch(world, path, {"spec": {"upstream": {"url": "tcp://elsewhere:1"}}})
            return


def delete(world: World, kind: str, name: str) -> None:
    if world.store.get(kind, NAMESPACE, name) is not None:
        world.store.delete(kind, NAMESPACE, name)


def delete_all(world: World) -> None:
    for kind in (SERVICES, POLICIES):
        for obj in list(world.store.objects(kind)):
            if obj["metadata"]["namespace"] == NAMESPACE and obj["metadata"]["name"] != "kubernetes":
                delete(world, kind, obj["metadata"]["name"])


def owners(obj: Any) -> list[str]:
    return [ref["uid"] for ref in obj["metadata"].get("ownerReferences") or ()]


def collect_garbage(world: World) -> bool:
    """What kube-controller-manager does; whether there was any."""
    alive = {obj["metadata"]["uid"] for obj in world.store.objects(SERVICES)}
    gone = [
        (kind, obj["metadata"]["name"])
        for kind in (AGENTS, CLOUDS)
        for obj in world.store.objects(kind)
        if owners(obj) and not alive & set(owners(obj)) and "deletionTimestamp" not in obj["metadata"]
    ]
    for kind, name in gone:
        world.store.delete(kind, NAMESPACE, name)
    return bool(gone)


def patch(world: World, path: str, body: Any) -> None:
    request = HttpRequest(
        "PATCH", received_path(path), body=json.dumps(body).encode(), content_type="application/merge-patch+json"
    )
    answer = world.store.handle(request)
    assert isinstance(answer, Answer)
    assert answer.status in (200, 404), answer.body
