"""A whole node on this machine: the kubelet, the Service proxy and the cluster's DNS, in one process."""

from __future__ import annotations

import asyncio
import ipaddress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import structlog

from seamark_cluster.dns.answers import Answers
from seamark_cluster.dns.names import PODS_BY_IP, SERVICES_BY_NAMESPACE, Names
from seamark_cluster.kubelet.agent import Followed, Kubelet, Namespaced, all_synced
from seamark_cluster.kubelet.credentials import KubeletPki
from seamark_cluster.kubelet.directory import Directory
from seamark_cluster.kubelet.host import Host, Resolver
from seamark_cluster.kubelet.images import Images
from seamark_cluster.kubelet.localvolumes import LocalVolumes
from seamark_cluster.kubelet.node import NodeReporter, NodeSettings
from seamark_cluster.kubelet.runtime import ProcessRuntime, StubRuntime
from seamark_cluster.kubelet.server import KubeletServer
from seamark_cluster.network import namespaces
from seamark_cluster.network.closed import NODE, PODS, SERVICES
from seamark_cluster.network.pods import BridgedNetwork, LoopbackNetwork, Network, StubNetwork
from seamark_cluster.routing.router import BY_SERVICE, Router
from seamark_runtime.api.core import ConfigMap, Pod, Secret, Service, TokenFile
from seamark_runtime.api.discovery import EndpointSlice
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.api.volumes import BoundClaim
from seamark_runtime.cache import Index
from seamark_runtime.client import Client
from seamark_runtime.clock import SystemClock
from seamark_runtime.dnsserver import DnsServer
from seamark_runtime.events import Events, Notice
from seamark_runtime.metrics import Metrics
from seamark_runtime.source import Informer
from seamark_runtime.transport import Transport
from seamark_runtime.watch import Watch

log = structlog.get_logger(__name__)

T = TypeVar("T", bound=Object)

MANAGER = "seamark-kubelet"


@dataclass(frozen=True, kw_only=True)
class MachineSettings:
    """How a node is set up."""

    name: str = "seamark"
    network: str = "auto"
    """bridge: a network namespace per Pod (needs root). loopback: 127/8. auto: bridge if permitted."""
    node_address: str = NODE
    pods: str = PODS
    services: str = SERVICES
    loopback: str = "127.244.0.0/16"
    """The Pod range without network namespaces."""
    route: bool = True
    """Whether Services are routed here; never for Pods without processes."""
    dns_address: str = "auto"
    """auto: the tenth address of the Services' range where Pods have networks of their own. Empty: no DNS."""
    dns_port: int = 53
    domain: str = "cluster.local"
    port: int = 10250
    """The port of the kubelet's own API."""
    stub: bool = False
    """Pods without processes."""
    backoff: float = 10.0
    volumes: bool = False
    """Whether claims without a storage class get directories of this machine, which are removed at the end."""
    pki: Path | None = None
    """The authority that the API server's flags name. Without one, anybody who can reach the port may read logs, and
    no client can run commands."""


def network_of(settings: MachineSettings) -> Network:
    if settings.stub:
        return StubNetwork("127.0.0.1", settings.pods)
    if settings.network == "bridge" or (settings.network == "auto" and namespaces.allowed()):
        return BridgedNetwork(settings.node_address, settings.pods, settings.services)
    return LoopbackNetwork(settings.loopback)


def dns_address(settings: MachineSettings, network: Network) -> str:
    """The address of DNS; only Pods with mounts of their own can use it."""
    if settings.dns_address != "auto":
        return settings.dns_address
    return str(ipaddress.ip_network(settings.services)[10]) if isinstance(network, BridgedNetwork) else ""


class Machine:
    """Runs until cancelled; then ends every process, and leaves no interface, address or file behind."""

    def __init__(self, transport: Transport, settings: MachineSettings, images: Images) -> None:
        self._settings = settings
        self._client = Client(transport, manager=MANAGER)
        self._clock = SystemClock()
        self._random = Random()
        self._events = Events(self._client, self._clock, Metrics(), settings.name)
        self.pods = self._follow(Pod, PODS_BY_IP)
        self.config_maps = self._follow(ConfigMap)
        self.secrets = self._follow(Secret)
        self.services = self._follow(Service, SERVICES_BY_NAMESPACE)
        self.slices = self._follow(EndpointSlice, BY_SERVICE)
        self.network = network_of(settings)
        self.dns, self.dns_port = dns_address(settings, self.network), settings.dns_port
        self._directory = Directory()
        self.kubelet = Kubelet(
            self._client, Followed(self.pods, self.config_maps, self.secrets), self._host(settings, images)
        )
        self.claims = self._follow(BoundClaim)
        self.volumes = LocalVolumes(self._client, self.claims, self.pods, self._directory.path / "claims")
        self.router = Router(self.services, self.slices, node=self.network.node)
        self.ready = asyncio.Event()

    async def run(self) -> None:
        server, names = KubeletServer(self.kubelet.workers, self._clock), self._dns()
        node: NodeReporter | None = None
        try:
            self.network.open()
            port = await self._serve(server)
            if self.dns:
                await names.start(self.dns, self._settings.dns_port)
            described = NodeSettings(self._settings.name, self.network.node, port=port, pod_cidr=self._settings.pods)
            node = NodeReporter(self._client, self._clock, described)
            await node.register()
            await self._work(node)
        finally:
            names.close()
            await self.kubelet.close()
            if node is not None:
                await node.stopped()
            await server.close()
            self.network.close()
            self._directory.remove()

    async def _work(self, node: NodeReporter) -> None:
        async with asyncio.TaskGroup() as group:
            for informer in self._informers():
                group.create_task(informer.watch.run(informer.handle))
            group.create_task(self._events.run())
            group.create_task(node.run())
            if self._settings.route and not self._settings.stub:
                group.create_task(self.router.run())
            group.create_task(self.kubelet.run())
            if self._settings.volumes:
                group.create_task(self.volumes.run())
            await all_synced(self._informers())
            log.info("node is ready", node=self._settings.name, network=type(self.network).__name__)
            self.ready.set()

    def _informers(self) -> tuple[Informer[Any], ...]:
        claims = (self.claims,) if self._settings.volumes else ()
        return (self.pods, self.config_maps, self.secrets, self.services, self.slices, *claims)

    def _follow(self, kind: type[T], *indexes: Index[T]) -> Informer[T]:
        return Informer(Watch(self._client, kind, self._random), indexes)

    async def _serve(self, server: KubeletServer) -> int:
        given = self._settings.pki
        pki = KubeletPki(given or self._directory.path / "pki")
        certificate = pki.server(self.network.node)
        return await server.start(
            self.network.node, self._settings.port, certificate, pki.client_ca if given is not None else None
        )

    def _dns(self) -> DnsServer:
        names = Names(self._settings.domain, self.services.cache, self.slices.cache, self.pods.cache)
        return DnsServer(Answers(names).fill)

    async def _token(self, pod: Pod, wanted: TokenFile) -> bytes:
        return await self.kubelet.token(pod, wanted)

    async def _claimed(self, claim: Key) -> Path:
        own = await self.volumes.provided(claim) if self._settings.volumes else None
        return own if own is not None else await self.kubelet.claimed(claim)

    def _host(self, settings: MachineSettings, images: Images) -> Host:
        api = str(next(ipaddress.ip_network(settings.services).hosts()))
        resolver = Resolver(self.dns, settings.domain) if self.dns else None
        return Host(
            name=settings.name,
            network=self.network,
            runtime=StubRuntime() if settings.stub else ProcessRuntime(self._clock),
            images=images,
            directory=self._directory.path,
            clock=self._clock,
            lookup=lambda namespace: Namespaced(namespace, self.config_maps, self.secrets),
            token=self._token,
            claimed=self._claimed,
            warn=lambda pod, reason, message: self._events.notice(pod, Notice(reason, message)),
            resolver=resolver,
            backoff=settings.backoff,
            variables={"KUBERNETES_SERVICE_HOST": api, "KUBERNETES_SERVICE_PORT": "443"},
        )
