"""`seamark explain` among five thousand objects: what it asks for does not grow with them, and it stays quick."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from seamark.cli.families import FAMILIES
from seamark.explain import kinds
from seamark.explain.reader import Reader
from seamark.explain.walk import explained
from seamark_cluster.server.cluster import ClusterSettings, EmbeddedCluster
from seamark_runtime.api.meta import Key
from seamark_runtime.connection import connect
from seamark_runtime.http import HttpTransport
from seamark_runtime.transport import Answer, HttpRequest

NAMESPACES, WORKLOADS = 10, 100
OBJECTS = NAMESPACES * WORKLOADS * 5
PATIENCE = 20.0  # seconds, on a machine that has other things to do


class Counting(HttpTransport):
    """Counts what is asked."""

    asked = 0

    async def send(self, request: HttpRequest) -> Answer:
        self.asked += 1
        return await super().send(request)


def made(name: str, namespace: str) -> list[dict[str, Any]]:
    """A Workload and what was made for it."""
    meta = {"name": name, "namespace": namespace, "labels": {"score.dev/workload": name}}
    host = f"{name}.{namespace}.example.test"
    return [
        {
            "apiVersion": "score.dev/v1b1",
            "kind": "Workload",
            "metadata": meta,
            "spec": {"containers": {"main": {"image": "seamark.dev/echo:v1"}}},
        },
        {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"ports": [{"port": 80}]}},
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "HTTPRoute",
            "metadata": meta,
            "spec": {"hostnames": [host], "rules": [{"backendRefs": [{"name": name, "port": 80}]}]},
        },
        {
            "apiVersion": "externaldns.k8s.io/v1alpha1",
            "kind": "DNSEndpoint",
            "metadata": meta,
            "spec": {"endpoints": [{"dnsName": host, "recordType": "A", "targets": ["192.0.2.1"]}]},
        },
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": "b"}},
    ]


async def story(folder: Path) -> tuple[float, int, set[str]]:
    cluster = EmbeddedCluster(folder, ClusterSettings())
    await cluster.start()
    transport = Counting(connect(str(cluster.kubeconfig)))
    await transport.open()
    try:
        for family in FAMILIES.values():
            for one in (*family.published(), *(crd.manifest() for crd in family.crds)):
                cluster.store.apply(one, "test")
        for space in range(NAMESPACES):
            cluster.store.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"n{space}"}}, "test")
            for number in range(WORKLOADS):
                for one in made(f"w{number}", f"n{space}"):
                    cluster.store.apply(one, "test")
        began = time.monotonic()
        hop = await explained(Reader(transport), kinds.WORKLOAD, Key("n5", "w50"))
        return time.monotonic() - began, transport.asked, {one.resource.kind for one in hop.walk()}
    finally:
        await transport.close()
        await cluster.close()


def test_what_is_asked_does_not_grow_with_the_cluster(tmp_path: Path) -> None:
    seconds, asked, seen = asyncio.run(story(tmp_path))
    print(f"explain: objects={OBJECTS} seconds={seconds:.2f} requests={asked}")  # noqa: T201  what was measured
    assert {"Workload", "Service", "HTTPRoute", "DNSEndpoint"} <= seen
    assert asked < 30
    assert seconds < PATIENCE
