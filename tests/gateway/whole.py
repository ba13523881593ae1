"""The gateway family with its Envoy, on an embedded API server."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import aiohttp

from seamark.families.gateway.family import DIRECT_RESPONSE, GATEWAY_EXTENSION, TRAFFIC_POLICY, controllers
from seamark.families.gateway.model.options import Options
from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_edge.dataplane.envoy import binary
from seamark_edge.dataplane.envoy.local import LocalEnvoys
from seamark_runtime.api.crd import CRD
from seamark_runtime.api.gateway import Gateway, HTTPRoute
from seamark_runtime.clock import SystemClock
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.names import ApiPath
from tests.gateway.test_envoy import backend, text
from tests.simulation.gateway import KINDS

PATIENCE = 60.0
READY = "seamark.dev/BackendsReady"
GROUP = "gateway.networking.k8s.io"
POLICY_KINDS = ("TrafficPolicy", "GatewayExtension", "DirectResponse")
Json = dict[str, Any]


@dataclass
class Whole:
    store: Store
    port: int  # of the backend

    def apply(self, kind: str, name: str, spec: Json | None = None, **fields: Any) -> None:
        version = {"Service": "v1", "Secret": "v1", "ConfigMap": "v1", "EndpointSlice": "discovery.k8s.io/v1"}.get(
            kind, f"{GROUP}/v1"
        )
        version = "gateway.kgateway.dev/v1alpha1" if kind in POLICY_KINDS else version
        metadata = {"name": name, **({} if kind == "GatewayClass" else {"namespace": "default"})}
        metadata.update(fields.pop("metadata", {}))
        body = {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}
        self.store.create(body if spec is None else {**body, "spec": spec})

    def edit(self, kind: type[Any], name: str, patch: Json) -> None:
        self._patch(kind.RESOURCE.path("default", name), patch)

    def edit_status(self, kind: type[Any], name: str, patch: Json) -> None:
        self._patch(kind.RESOURCE.path("default", name, "status"), patch)

    def _patch(self, path: ApiPath, patch: Json) -> None:
        body, media = json.dumps(patch).encode(), "application/merge-patch+json"
        answer = self.store.handle(HttpRequest("PATCH", path, body=body, content_type=media))
        assert isinstance(answer, Answer)
        assert answer.status == 200, answer.body

    def route(self, name: str, **rule: Any) -> None:
        rules = [{"backendRefs": [{"name": "web", "port": 80}], **rule}]
        self.apply("HTTPRoute", name, {"parentRefs": [{"name": "gateway"}], "rules": rules})

    def get(self, kind: type[Any], name: str) -> Json:
        return self.store.get(str(kind.RESOURCE), "default", name) or {}

    def gateway(self, type_: str = "Programmed") -> Json:
        return conditions((self.get(Gateway, "gateway").get("status") or {}).get("conditions")).get(type_, {})

    def listener(self, type_: str) -> Json:
        listeners = (self.get(Gateway, "gateway").get("status") or {}).get("listeners") or [{}]
        return conditions(listeners[0].get("conditions")).get(type_, {})

    def condition(self, name: str, type_: str = "Accepted") -> Json:
        parents = (self.get(HTTPRoute, name).get("status") or {}).get("parents") or [{}]
        return conditions(parents[0].get("conditions")).get(type_, {})

    @property
    def address(self) -> str:
        return str(self.get(Gateway, "gateway")["status"]["addresses"][0]["value"])

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while not condition():
            assert asyncio.get_running_loop().time() < deadline, f"{what}; {self.get(Gateway, 'gateway').get('status')}"
            await asyncio.sleep(0.05)

    async def served(self) -> None:
        await self.until(lambda: self.gateway().get("status") == "True", "the gateway is programmed")

    async def answers(self, path: str, **headers: str) -> tuple[int, str]:
        async with aiohttp.ClientSession(headers=headers) as session:
            return await text(session, f"http://{self.address}:8080{path}")

    async def answers_so(self, path: str, status: int) -> None:
        deadline = asyncio.get_running_loop().time() + PATIENCE
        while (await self.answers(path))[0] != status:
            assert asyncio.get_running_loop().time() < deadline, f"{path} does not answer {status}"
            await asyncio.sleep(0.05)


def conditions(found: Any) -> dict[str, Json]:
    return {one["type"]: one for one in found or ()}


def whole(
    test: Callable[[Whole], Awaitable[None]],
    *,
    envoy: bool | Path = True,
    listener: Json | None = None,
    former_namespace: str = "",
) -> None:
    async def story() -> None:
        store = Store(clock=SystemClock(), chance=Random(1))
        for kind in KINDS:
            store.create(CRD(kind=kind).manifest())
        for definition in (TRAFFIC_POLICY, GATEWAY_EXTENSION, DIRECT_RESPONSE):
            store.create(definition.manifest())
        addresses = (f"127.0.{random.randint(100, 250)}.0/24",)
        options = Options(addresses=addresses, counting=0.1, former_namespace=former_namespace)
        program = envoy if isinstance(envoy, Path) else binary.install() if envoy else None
        declared = controllers(options, LocalEnvoys(program))
        settings = Settings(leader_election=False, health_address="", stop_grace=0, single_reads=1)
        operator = Operator(World(EmbeddedTransport(store), SystemClock(), Random(1)), declared, settings)
        running = asyncio.ensure_future(operator.run())
        try:
            async with backend("web") as port:
                scene = Whole(store, port)
                prepare(scene, listener or {"name": "http", "port": 8080, "protocol": "HTTP"})
                await test(scene)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    asyncio.run(story())


def prepare(scene: Whole, listener: Json) -> None:
    scene.apply("Service", "web", {"ports": [{"port": 80}]})
    scene.apply(
        "EndpointSlice",
        "web",
        metadata={"labels": {"kubernetes.io/service-name": "web"}},
        addressType="IPv4",
        endpoints=[{"addresses": ["127.0.0.1"]}],
        ports=[{"port": scene.port}],
    )
    scene.apply("Gateway", "gateway", {"gatewayClassName": "kgateway", "listeners": [listener]})


def header(name: str, value: object) -> Json:
    return {"name": name, "value": str(value)}
