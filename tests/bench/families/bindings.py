"""FAMILY=bindings: BoundEndpoints projected from an edge, with two Services each and a probe."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Generator, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from seamark.families.bindings.family import CRDS, controllers
from seamark.families.bindings.model.certificates import Life
from seamark.families.bindings.model.options import Options
from seamark.families.bindings.model.ownership import FINALIZER
from seamark.families.bindings.model.targets import Target
from seamark.providers.edge.calls import Kind
from seamark.providers.edge.memory import MemoryCalls, memory_edge
from seamark_edge.api.bindings import BoundEndpoint
from seamark_edge.model import Fields
from seamark_runtime.api.core import Service
from seamark_runtime.api.meta import Object
from seamark_runtime.client import APPLY_PATCH
from seamark_runtime.controller import Declaration
from tests.bench.families.bindings_run import bench
from tests.bench.scenario import Made, Sort, Targets, Write

__all__ = ["SCENARIO", "bench"]

FILE = "SEAMARK_BENCH_BINDINGS"  # how the operator's process learns what the edge binds
HOME, USERS = "bench", "users"
PROBE_EVERY, SHELF_LIFE, POLL = 2.0, 6.0, 0.2
NEW_YEAR = "2026-01-01T00:00:00Z"
SILENT = 30_000  # targets from this port on never answer a probe
SAID = [
    {"type": type_, "status": "True", "reason": reason, "message": message, "lastTransitionTime": NEW_YEAR}
    for type_, reason, message in (
        ("ServicesCreated", "ServicesCreated", "Target and Upstream services created"),
        ("ConnectivityVerified", "ConnectivityVerified", "Successfully connected to upstream service"),
        ("Ready", "BoundEndpointReady", "BoundEndpoint is ready"),
    )
]


def target(number: int, *, silent: bool = False) -> Target:
    return Target("tcp", f"service-{number:06}", USERS, SILENT + 1 if silent else 5432)


KNOWN: dict[str, tuple[int, Target]] = {}


def known(name: str) -> tuple[int, Target]:
    if not KNOWN:
        KNOWN.update({target(number).name: (number, target(number)) for number in range(10_000)})
    return KNOWN[name]


class FileEdge(MemoryCalls):
    """An edge that binds the URLs of a file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._read = 0

    async def bound(self, operator: str) -> list[Fields]:
        changed = self._path.stat().st_mtime_ns
        if changed != self._read:
            self._read = changed
            self._objects[Kind.ENDPOINTS].clear()
            for url in json.loads(self._path.read_text()):
                self.agent_holds(url, bindings=("kubernetes",))
        return list(self._objects[Kind.ENDPOINTS].values())  # an edge evaluates selectors itself: no cost of ours


class PlainCertificates:
    def request(self) -> tuple[str, str]:
        return "request", "key"

    def life(self, certificate: bytes, key: bytes) -> Life | None:
        return Life(datetime(2020, 1, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC))


async def dial(_address: str, port: int) -> None:
    """A network in which everything answers at once, or never."""
    if port > SILENT:
        await asyncio.sleep(3600)


class BindingsScenario:
    crds = CRDS
    watched = BoundEndpoint
    children = (Service,)
    tear_down = (BoundEndpoint.RESOURCE, Service.RESOURCE)
    at_rest = max(POLL, PROBE_EVERY, SHELF_LIFE)
    targets = Targets(requests_per_object=6.0, time_vs_floor=1.5, cpu_ms_per_object=10.0, rss_mb_per_1000=40.0)

    def controllers(self) -> tuple[Declaration, ...]:
        options = Options(namespace=HOME, poll=POLL, probe_every=PROBE_EVERY, shelf_life=SHELF_LIFE, gone_grace=0.0)
        edge = memory_edge(FileEdge(Path(os.environ[FILE])), reachable=True)
        return controllers(options, edge, certificates=PlainCertificates(), dial=dial)

    def make(self, namespace: str, name: str, sort: Sort) -> Write:
        """What the poller does: in the floor it is the client's write like the others."""
        number, one = known(name)
        spec = {
            "endpointURL": one.url,
            "scheme": one.scheme,
            "port": 10_000 + number,
            "target": {"service": one.service, "namespace": one.namespace, "port": one.port},
        }
        metadata = {"name": name, "finalizers": [FINALIZER]}
        body = {"apiVersion": BoundEndpoint.RESOURCE.api_version, "kind": "BoundEndpoint", "metadata": metadata}
        return Write("POST", f"{BoundEndpoint.RESOURCE.path(namespace)}?fieldManager=seamark", {**body, "spec": spec})

    def work(self, made: Made) -> Generator[Write, Made, None]:
        number, one = known(made.name)
        path = BoundEndpoint.RESOURCE.path(made.namespace, made.name, "status")
        labels = {"ngrok.com/endpoint-binding-name": made.name, "app.kubernetes.io/managed-by": "ngrok-operator"}
        port = {"name": f"tcp-{one.port}", "port": one.port, "protocol": "TCP"}
        selector = {"app.kubernetes.io/component": "bindings-forwarder"}
        upstream = {"ports": [{**port, "targetPort": 10_000 + number}], "selector": selector}
        external = {"type": "ExternalName", "externalName": f"{made.name}.{HOME}.svc.cluster.local", "ports": [port]}
        yield service(one.namespace, one.service, labels, external)
        listed = {"endpoints": [{"id": "ep", "uri": "/endpoints/ep"}], "endpointsSummary": "1 endpoint"}
        yield status(
            made, f"{path}?fieldManager=seamark-bindings-poller&force=true", {**listed, "hashedName": made.name}
        )
        yield service(made.namespace, made.name, labels, upstream)
        conditions = [{**said, "observedGeneration": made.generation} for said in SAID]
        refs = {"targetServiceRef": {"name": one.service}, "upstreamServiceRef": {"name": made.name}}
        said = {"observedGeneration": made.generation, "conditions": conditions, **refs}
        yield status(made, f"{path}?fieldManager=seamark-bindings&force=true", said)

    def done(self, obj: BoundEndpoint) -> bool:
        conditions = obj.status.conditions if obj.status else ()
        ready = next((one for one in conditions if one.type == "Ready"), None)
        current = ready is not None and ready.observed_generation == obj.metadata.generation
        return current and ready is not None and ready.status == "True"

    def owners(self, child: Object) -> Iterable[str]:
        return ()


def service(namespace: str, name: str, labels: dict[str, str], spec: dict[str, Any]) -> Write:
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "labels": labels}, "spec": spec}
    return Write("POST", f"{Service.RESOURCE.path(namespace)}?fieldManager=seamark", body)


def status(made: Made, path: str, said: dict[str, Any]) -> Write:
    metadata = {"name": made.name, "namespace": made.namespace}
    body = {"apiVersion": BoundEndpoint.RESOURCE.api_version, "kind": "BoundEndpoint", "metadata": metadata}
    return Write("PATCH", path, {**body, "status": said}, APPLY_PATCH)


SCENARIO = BindingsScenario()
