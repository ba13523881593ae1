"""A whole cluster in this process: the embedded API server, its controllers and, optionally, a node."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

from seamark_cluster.controllers.manager import manager
from seamark_cluster.embedded import EmbeddedTransport, Settings, Store
from seamark_cluster.embedded import User as Caller
from seamark_cluster.kubelet.credentials import KubeletPki
from seamark_cluster.kubelet.images import Images
from seamark_cluster.kubelet.machine import Machine, MachineSettings
from seamark_cluster.network import namespaces
from seamark_cluster.network.closed import SERVICES
from seamark_cluster.network.lanes import Lane, claim
from seamark_cluster.real.users import MASTERS, User
from seamark_cluster.server.server import EmbeddedServer
from seamark_cluster.server.state import StateFile
from seamark_runtime.clock import SystemClock
from seamark_runtime.errors import UserError

CONTROLLERS = Caller("system:kube-controller-manager", (MASTERS,))
NODE = Caller("system:node", (MASTERS,))
NETWORKS = ("auto", "bridge", "loopback")
NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc")


@dataclass(frozen=True, kw_only=True)
class ClusterSettings:
    """How an embedded cluster is set up."""

    users: tuple[User, ...] = ()
    host: str = "127.0.0.1"
    port: int = 0
    services: str = SERVICES
    state: Path | None = None
    """A file that keeps the state across restarts; none: in memory."""
    node: MachineSettings | None = None
    lane: Lane | None = None
    """Its reserved loopback ranges; released when it closes."""
    images: Images = field(default_factory=Images)


def with_node(network: str, *, stub: bool = False, **settings: Any) -> ClusterSettings:
    """A cluster with a node of that network, and a Service range that is routed there.

    Where Pods have loopback addresses, Services have them too; both ranges are reserved here.
    """
    if network not in NETWORKS:
        raise UserError(f"unknown network {network!r}", hint=f"choose one of {', '.join(NETWORKS)}")
    if network == "bridge" or (network == "auto" and namespaces.allowed()):
        return ClusterSettings(node=MachineSettings(network="bridge", port=0, stub=stub, volumes=not stub), **settings)
    lane = claim()
    node = MachineSettings(
        network="loopback", services=lane.services, loopback=lane.pods, port=0, stub=stub, volumes=not stub
    )
    return ClusterSettings(services=lane.services, node=node, lane=lane, **settings)


class EmbeddedCluster:
    """From `start` to `close`; `failed` returns if a part of it ends before that. Everything is in the running loop."""

    def __init__(self, directory: Path, settings: ClusterSettings | None = None) -> None:
        self.settings = settings or ClusterSettings()
        self.store = Store(settings=Settings(service_network=self.settings.services))
        self._state = StateFile(self.settings.state) if self.settings.state is not None else None
        if self._state is not None:
            self._state.attach(self.store)
        users = tuple(self._known(user) for user in (User("admin", (MASTERS,)), *self.settings.users))
        self._kubelets = directory / "kubelets"
        self.server = EmbeddedServer(self.store, users, directory, KubeletPki(self._kubelets))
        self.machine: Machine | None = None
        self._work: list[asyncio.Task[None]] = []

    @property
    def url(self) -> str:
        return self.server.url

    @property
    def kubeconfig(self) -> Path:
        return self.server.kubeconfig

    async def start(self) -> None:
        settings = self.settings
        first = str(next(ipaddress.ip_network(settings.services).hosts()))
        await self.server.start(settings.host, settings.port, (first, *NAMES))
        self._publish(first)
        operator = manager(
            EmbeddedTransport(self.store, CONTROLLERS), SystemClock(), Random(), self.server.authority.read_text()
        )
        self._begin(operator.run())
        if settings.node is not None:
            node = replace(settings.node, pki=self._kubelets)
            self.machine = Machine(EmbeddedTransport(self.store, NODE), node, settings.images)
            ready = asyncio.ensure_future(self.machine.ready.wait())
            self._begin(self.machine.run())
            await asyncio.wait((*self._work, ready), return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
            for task in self._work:
                if task.done():
                    await self.close()
                    task.result()

    async def close(self) -> None:
        work, self._work = self._work, []
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        await self.server.close()
        if self._state is not None:
            self._state.close()
            self._state = None
        if self.settings.lane is not None:
            self.settings.lane.close()

    async def failed(self) -> None:
        """Returns, or raises the error, as soon as a part of the cluster has ended by itself."""
        done, _ = await asyncio.wait(self._work, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()

    def _known(self, user: User) -> User:
        """The user, with their token from before a restart if there was one."""
        for token, caller in self.store.tokens():
            if (caller.name, caller.groups) == (user.name, user.groups):
                return replace(user, token=token)
        return user

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._work.append(asyncio.ensure_future(work))

    def _publish(self, first: str) -> None:
        """The Service `kubernetes`, with the address of the API server for Pods."""
        at = urlsplit(self.server.url)
        meta = {"name": "kubernetes", "namespace": "default"}
        labels = {"component": "apiserver", "provider": "kubernetes"}
        ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": at.port}]
        spec = {"clusterIP": first, "ports": ports, "sessionAffinity": "None", "type": "ClusterIP"}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {**meta, "labels": labels}, "spec": spec}
        before = self.store.get("services", "default", "kubernetes")
        if before is not None and before["spec"]["clusterIP"] != first:
            self.store.delete("services", "default", "kubernetes")  # the state has another Service range
        self.store.apply(service, "kube-apiserver")
        label = {"kubernetes.io/service-name": "kubernetes"}
        endpoints = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {**meta, "labels": label},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [at.hostname], "conditions": {"ready": True}}],
            "ports": [{"name": "https", "port": at.port, "protocol": "TCP"}],
        }
        self.store.apply(endpoints, "kube-apiserver")
