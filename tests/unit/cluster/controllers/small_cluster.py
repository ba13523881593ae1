"""A store with its controllers in virtual time, and a simulated kubelet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import msgspec

from seamark_cluster.controllers.manager import manager
from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_runtime.clock import timestamp
from seamark_runtime.transport import HttpRequest
from seamark_runtime.untrusted.names import received_path
from tests.virtual_time import CLOCK, run

Json = dict[str, Any]


class Cluster:
    def __init__(self) -> None:
        self.store = Store(CLOCK, Random(1))
        self.network = "10.244.1"  # of Pods
        self._addresses = 0

    async def settled(self, seconds: float = 1.0) -> None:
        await asyncio.sleep(seconds)

    def get(self, resource: str, name: str, namespace: str = "default") -> Json:
        found = self.store.get(resource, namespace, name)
        assert found is not None, name
        return found

    def all(self, resource: str) -> list[Json]:
        return [obj for obj in self.store.objects(resource) if obj["metadata"].get("namespace") == "default"]

    def pods(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.all("pods") if "deletionTimestamp" not in pod["metadata"]]

    def change(self, kind: str, name: str, spec: Json) -> None:
        metadata = {"name": name, "namespace": "default"}
        self.store.apply({"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}, "test")

    def write_status(self, pod: str, *, ready: bool = True, phase: str = "Running") -> None:
        """Writes a Pod's status as a kubelet does, with its own field manager."""
        self._addresses += 1
        self._bind(pod)
        known = self.get("pods", pod).get("status", {}).get("podIP") or f"{self.network}.{self._addresses}"
        condition = {
            "type": "Ready",
            "status": "True" if ready else "False",
            "lastTransitionTime": timestamp(CLOCK.wall()),
        }
        status = {"phase": phase, "podIP": known, "podIPs": [{"ip": known}], "conditions": [condition]}
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod, "namespace": "default"}, "status": status}
        request = HttpRequest(
            "PATCH",
            received_path(f"/api/v1/namespaces/default/pods/{pod}/status"),
            query={"fieldManager": "kubelet", "force": "true"},
            body=msgspec.json.encode(body),
            content_type="application/apply-patch+yaml",
        )
        answer = self.store.handle(request)
        assert answer.status == 200, answer

    def _bind(self, pod: str) -> None:
        if self.get("pods", pod)["spec"].get("nodeName"):
            return
        target = {"apiVersion": "v1", "kind": "Node", "name": "here"}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target}
        path = f"/api/v1/namespaces/default/pods/{pod}/binding"
        answer = self.store.handle(HttpRequest("POST", received_path(path), body=msgspec.json.encode(body)))
        assert answer.status == 201, answer

    async def kubelet(self) -> None:
        """Makes every Pod ready that is not, and completes every deletion, until nothing changes any more."""
        for _ in range(100):
            before = self.store.revisions.current
            for pod in self.all("pods"):
                name = pod["metadata"]["name"]
                if "deletionTimestamp" in pod["metadata"]:
                    self.store.revisions.write("pods", ("default", name), None)
                    self.store.settle()
                elif not pod.get("status", {}).get("podIP"):
                    self.write_status(name)
            await self.settled()
            if self.store.revisions.current == before:
                return


def on_a_cluster(program: Callable[[Cluster], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        cluster = Cluster()
        operator = manager(EmbeddedTransport(cluster.store), CLOCK, Random(2))
        work = asyncio.ensure_future(operator.run())
        await cluster.settled()
        try:
            await program(cluster)
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)

    run(whole())


def template(app: str, **env: str) -> Json:
    container: Json = {"name": "main", "image": "seamark.dev/echo", "ports": [{"name": "http", "containerPort": 3000}]}
    if env:
        container["env"] = [{"name": name, "value": value} for name, value in env.items()]
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": [container]}}


def workload(kind: str, name: str, **spec: Any) -> Json:
    whole = {"selector": {"matchLabels": {"app": name}}, "template": template(name), **spec}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": whole}


def service(name: str, **spec: Any) -> Json:
    whole = {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": "http"}], **spec}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": whole}
