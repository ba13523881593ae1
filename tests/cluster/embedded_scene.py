"""A cluster in this process: the embedded API server, an operator with any family, and what people do there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_runtime.api.crd import CRD
from seamark_runtime.api.meta import Object
from seamark_runtime.clock import SystemClock
from seamark_runtime.competing import TAKEN
from seamark_runtime.controller import Declaration
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from seamark_runtime.transport import Answer, HttpRequest
from seamark_runtime.untrusted.names import received_path

MERGE = "application/merge-patch+json"
SETTINGS = Settings(leader_election=False, health_address="", stop_grace=0, workers=8, single_reads=1)
HOME = "seamark-system"
Json = dict[str, Any]


@dataclass
class Scene:
    """What users and other controllers do."""

    store: Store

    def make(self, kind: type[Object], name: str, spec: Json, namespace: str = "default") -> None:
        metadata = {"name": name} | ({"namespace": namespace} if kind.RESOURCE.namespaced else {})
        self.store.create(
            {"apiVersion": kind.RESOURCE.api_version, "kind": kind.RESOURCE.kind, "metadata": metadata, "spec": spec}
        )

    def get(self, kind: type[Object], name: str, namespace: str = "default") -> Json:
        return self.store.get(str(kind.RESOURCE), namespace if kind.RESOURCE.namespaced else "", name) or {}

    def say(self, manager: str, path: str, status: Json) -> None:
        body = json.dumps({"status": status}).encode()
        query = {"fieldManager": manager}
        answer = self.store.handle(HttpRequest("PATCH", received_path(f"{path}/status"), query, body, MERGE))
        assert isinstance(answer, Answer)
        assert answer.status == 200, answer.body

    def edit(self, path: str, patch: Json) -> None:
        answer = self.store.handle(
            HttpRequest("PATCH", received_path(path), body=json.dumps(patch).encode(), content_type=MERGE)
        )
        assert isinstance(answer, Answer)
        assert answer.status == 200, answer.body

    def delete(self, kind: type[Object], name: str, namespace: str = "default") -> None:
        self.store.delete(str(kind.RESOURCE), namespace, name)

    def condition(self, kind: type[Object], name: str, type_: str, namespace: str = "default") -> Json:
        found = (self.get(kind, name, namespace).get("status") or {}).get("conditions") or ()
        return next((dict(one) for one in found if one["type"] == type_), {})

    def events(self, reason: str) -> list[Json]:
        return [one for one in self.store.objects("events") if one["reason"] == reason]

    def told(self) -> list[str]:
        """Of another controller."""
        return [one["message"] for one in self.events(TAKEN)]


@asynccontextmanager
async def living(
    store: Store, declared: tuple[Declaration, ...], settings: Settings = SETTINGS
) -> AsyncIterator[Operator]:
    operator = Operator(World(EmbeddedTransport(store), SystemClock(), Random(1)), declared, settings)
    task = asyncio.ensure_future(operator.run())
    try:
        yield operator
        if task.done():
            task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def store_with(*crds: CRD, more: tuple[str, ...] = ()) -> Store:
    store = Store(clock=SystemClock(), chance=Random(1))
    for crd in crds:
        store.create(crd.manifest())
    for name in (HOME, "score-system", *more):
        store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return store
