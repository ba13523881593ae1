"""A cluster with a chain in it: a route on a Gateway, a Service, Pods; every object as its controllers leave it."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from seamark.explain import kinds
from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_runtime.api.meta import Resource
from seamark_runtime.transport import HttpRequest
from seamark_runtime.untrusted.names import received_path
from tests.virtual_time import CLOCK

Json = dict[str, Any]


def condition(type_: str, status: str = "True", reason: str = "Fine", message: str = "", generation: int = 1) -> Json:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": generation,
    }


class Chain:
    """Objects are made and changed by their manifests; the store is the one that the simulator runs on."""

    def __init__(self) -> None:
        self.transport = EmbeddedTransport(Store(clock=CLOCK, chance=Random(1)), agent="user")

    async def ask(self, method: str, path: str, body: Any = None, media: str = "application/json") -> Json:
        data = b"" if body is None else json.dumps(body).encode()
        answer = await self.transport.send(HttpRequest(method, received_path(path), {}, data, media))
        found: Json = json.loads(answer.body)
        assert answer.status < 300, found
        return found

    async def make(self, resource: Resource, name: str, status: Json | None = None, **rest: Any) -> Json:
        labels = rest.pop("labels", {})
        metadata = {"name": name, "labels": labels, "ownerReferences": rest.pop("owners", [])}
        body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **rest}
        made = await self.ask("POST", resource.path("default" if resource.namespaced else ""), body)
        if status is not None:
            made = await self.say(resource, name, status)
        return made

    async def say(self, resource: Resource, name: str, status: Json) -> Json:
        path = resource.path("default" if resource.namespaced else "", name)
        return await self.ask("PATCH", f"{path}/status", {"status": status}, "application/merge-patch+json")

    async def install(self, *resources: Resource) -> None:
        """Kinds of others, of whose objects anything is taken."""
        for kind in resources:
            names = {
                "plural": kind.plural,
                "kind": kind.kind,
                "singular": kind.kind.lower(),
                "listKind": f"{kind.kind}List",
            }
            schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
            version = {"name": kind.version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            spec = {
                "group": kind.group,
                "names": names,
                "scope": "Namespaced" if kind.namespaced else "Cluster",
                "versions": [version | {"subresources": {"status": {}}}],
            }
            metadata = {"name": f"{kind.plural}.{kind.group}"}
            body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            await self.ask("POST", path, {**body, "metadata": metadata, "spec": spec})

    async def route(self) -> None:
        """A route `web` on the Gateway `front`, to the Service `web`; all is well."""
        await self.install(kinds.HTTP_ROUTE, kinds.GATEWAYS, kinds.GATEWAY_CLASS)
        accepted = {"conditions": [condition("Accepted")]}
        await self.make(kinds.GATEWAY_CLASS, "kgateway", accepted, spec={})
        listener = {"name": "http", "conditions": [condition("Programmed"), condition("Conflicted", "False")]}
        programmed = {"conditions": [condition("Accepted"), condition("Programmed")], "listeners": [listener]}
        await self.make(kinds.GATEWAYS, "front", programmed, spec={"gatewayClassName": "kgateway", "listeners": []})
        parent = {"parentRef": {"name": "front"}, "conditions": [condition("Accepted"), condition("ResolvedRefs")]}
        rules = [{"backendRefs": [{"name": "web", "port": 80}]}]
        spec = {"parentRefs": [{"name": "front"}], "rules": rules}
        await self.make(kinds.HTTP_ROUTE, "web", {"parents": [parent]}, spec=spec)

    async def serve(self) -> None:
        """A Service `web` with one Pod that is ready."""
        ports = [{"port": 80, "protocol": "TCP"}]
        await self.make(kinds.SERVICE, "web", spec={"selector": {"app": "web"}, "ports": ports})
        container = {"name": "app", "image": "echo"}
        running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await self.make(kinds.POD, "web-1", running, spec={"containers": [container]}, labels={"app": "web"})
        endpoints = [{"addresses": ["192.0.2.1"], "conditions": {"ready": True}}]
        labels = {"kubernetes.io/service-name": "web"}
        await self.make(kinds.SLICE, "web-x", addressType="IPv4", endpoints=endpoints, ports=[], labels=labels)
