"""The Node object, and its heartbeat Lease."""

from __future__ import annotations

import asyncio
import os
import platform
from dataclasses import dataclass
from typing import Any

import structlog

import seamark_cluster
from seamark_cluster.kubelet.sessions import FEATURE
from seamark_runtime.api.coordination import Lease
from seamark_runtime.api.core import Node, NodeSpec
from seamark_runtime.api.meta import Key, ObjectMeta
from seamark_runtime.client import Client
from seamark_runtime.clock import Clock, micro_timestamp, timestamp
from seamark_runtime.errors import Exists, SeamarkError

log = structlog.get_logger(__name__)

LEASES = "kube-node-lease"
RENEW = 10.0
REPORT = 300.0  # seconds after which an unchanged status is written again
RETRY_SECONDS = 1.0


@dataclass(frozen=True)
class NodeSettings:
    name: str
    address: str
    pods: int = 2000
    port: int = 0  # the port of the kubelet's own API; 0: none
    pod_cidr: str = ""


class NodeReporter:
    """Keeps one Node in the API: creates it, renews its Lease, and sets Ready to False at the end."""

    def __init__(self, client: Client, clock: Clock, settings: NodeSettings) -> None:
        self._client = client
        self._clock = clock
        self._settings = settings
        self._key = Key("", settings.name)
        self._since = timestamp(clock.wall())

    async def register(self) -> None:
        labels = {
            "kubernetes.io/hostname": self._settings.name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": machine(),
            "seamark.dev/kubelet": "process",
        }
        spec = NodeSpec(pod_cidr=self._settings.pod_cidr, pod_cidrs=(self._settings.pod_cidr,))
        node = Node(metadata=ObjectMeta(name=self._settings.name, labels=labels), spec=spec)
        try:
            await self._client.create(node)
        except Exists:
            log.info("node exists already", node=self._settings.name)
        await self._write_status(ready=True)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        written, made = loop.time(), False
        while True:
            try:
                made = await self._renew(made)
                if loop.time() - written > REPORT:
                    await self._write_status(ready=True)
                    written = loop.time()
            except SeamarkError as error:
                log.info("node lease not renewed", error=error.message)
                await asyncio.sleep(RETRY_SECONDS)
            else:
                await asyncio.sleep(RENEW)

    async def stopped(self) -> None:
        try:
            await self._write_status(ready=False)
        except SeamarkError as error:
            log.info("node status not updated at stop", error=error.message)

    async def _renew(self, made: bool) -> bool:
        now = micro_timestamp(self._clock.wall())
        spec = {"holderIdentity": self._settings.name, "leaseDurationSeconds": 40, "renewTime": now}
        await self._client.apply(Lease, Key(LEASES, self._settings.name), {"spec": spec})
        return True

    async def _write_status(self, *, ready: bool) -> None:
        await self._client.apply(Node, self._key, {"status": self.status(ready=ready)}, "status")

    def status(self, *, ready: bool) -> dict[str, Any]:
        now = timestamp(self._clock.wall())
        settings = self._settings
        capacity = {"cpu": str(os.cpu_count() or 1), "memory": f"{memory_kib()}Ki", "pods": str(settings.pods)}
        ready_condition = (
            ("KubeletReady", "the process kubelet runs")
            if ready
            else ("KubeletStopped", "the process kubelet was stopped")
        )
        rows = [("Ready", ready, *ready_condition)]
        rows += [(name, False, f"KubeletHasNo{name}", "not measured here") for name in PRESSURES]
        status: dict[str, Any] = {
            "addresses": [{"type": "InternalIP", "address": settings.address}],
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [
                {
                    "type": type_,
                    "status": "True" if ok else "False",
                    "reason": reason,
                    "message": message,
                    "lastHeartbeatTime": now,
                    "lastTransitionTime": self._since if ready or type_ != "Ready" else now,
                }
                for type_, ok, reason, message in rows
            ],
            "nodeInfo": node_info(),
        }
        if settings.port:
            status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": settings.port}}
            status["declaredFeatures"] = [FEATURE]
        return status


PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")


def machine() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def memory_kib() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 1024


def node_info() -> dict[str, str]:
    return {
        "architecture": machine(),
        "bootID": "",
        "containerRuntimeVersion": f"process://{seamark_cluster.__version__}",
        "kernelVersion": platform.release(),
        "kubeProxyVersion": "",
        "kubeletVersion": f"v{seamark_cluster.__version__}-seamark",
        "machineID": "",
        "operatingSystem": "linux",
        "osImage": "processes on this machine",
        "systemUUID": "",
    }
