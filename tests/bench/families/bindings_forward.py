"""What a forwarder costs: throughput and new connections, against the same mTLS connections made without one.

An edge, an agent, a forwarder and the services behind are processes of their own, on a control plane of their own.
"""

from __future__ import annotations

import asyncio
import base64
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from seamark.families.bindings.family import CRDS
from seamark.families.bindings.model.certificates import EcCertificates
from seamark.providers.edge.seamark import seamark_edge
from seamark_cluster.real.plane import ControlPlane, Options
from seamark_edge.api.bindings import BoundEndpoint
from seamark_edge.api.kubernetesoperator import KubernetesOperator
from seamark_edge.forwarder.halves import EdgeHalf
from seamark_edge.forwarder.link import Credentials, ResumingContext, context_of
from seamark_edge.model import OperatorSpec, Owner
from seamark_edge.wire.bindings import ConnRequest, frame
from seamark_edge.wire.muxado.frames import Bytes
from tests.bench.edge import load
from tests.bench.spread import median
from tests.cluster.requests import eventually, install, request
from tests.edge.running import RunningEdge
from tests.edge.services import free_port

HOME = "seamark-system"
SIZE = 256 * 1024 * 1024
SECONDS = 4.0
PAIRS = 5
AT_ONCE = 8
PORTS = {"bulk": 7000, "echo": 7001}
Say = Callable[[str], None]


@dataclass(frozen=True)
class Carried:
    """With a forwarder, as a part of without one; the numbers of each pair beside."""

    throughput: float
    connections: float
    bytes_a_second: list[tuple[float, float]]
    connections_a_second: list[tuple[float, float]]


class Direct(EdgeHalf):
    """A connection to the ingress without a forwarder: the preamble, then what the measurement says."""

    def __init__(self, port: int, say: bytes, wanted: int) -> None:
        super().__init__()
        self._frame = frame(ConnRequest(f"{'bulk' if port == PORTS['bulk'] else 'echo'}.shop", port))
        self._say = say
        self._left = wanted
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        assert self.transport is not None
        self.transport.write(self._frame)

    def data_received(self, data: Bytes) -> None:
        assert self.transport is not None
        if self.answer.done():
            self._take(len(data))
            return
        super().data_received(data)
        if self.answer.done():
            self.transport.write(self._say)
            self._take(len(self.rest))

    def _take(self, count: int) -> None:
        self._left -= count
        if self._left <= 0 and not self.done.done():
            self.done.set_result(None)


async def forward(directory: Path, say: Say) -> Carried:
    with ExitStack() as stack:
        edge = RunningEdge(directory / "edge", connections_per_source=100_000)
        stack.callback(edge.close)
        plane = stack.enter_context(ControlPlane(Options(controllers=False)))
        for crd in CRDS:
            await asyncio.to_thread(install, plane, crd)
        ports = {name: free_port() for name in PORTS}
        for name in PORTS:
            start(stack, "-m", "tests.bench.edge.load", name, str(ports[name]))
        manifests = directory / "agents.yaml"
        manifests.write_text("---\n".join(agent_endpoint(name, ports[name]) for name in PORTS))
        agent = ["--server", edge.address, "--ca", edge.ca, "--endpoints", str(manifests)]
        start(stack, "-c", "from seamark.cli.agent import app; app()", *agent, SEAMARK_AGENT_TOKEN=edge.token)
        context = await registered(plane, edge)
        listens = {name: free_port() for name in PORTS}
        for name in PORTS:
            bound(plane, name, listens[name])
        flags = [f"--kubeconfig={plane.kubeconfig}", "--forwarder-bind=127.0.0.1", "--health-address="]
        start(stack, "-c", "from seamark.cli.forwarder import app; app()", *flags)
        await asyncio.to_thread(eventually, lambda: serves(listens["echo"]), "the forwarder serves", 60)
        return await measured(edge, context, listens, say)


async def measured(edge: RunningEdge, context: ResumingContext, listens: dict[str, int], say: Say) -> Carried:
    ingress = edge.ports["ingress_port"]
    rates: list[tuple[float, float]] = []
    opened: list[tuple[float, float]] = []
    for number in range(PAIRS):
        without = await direct_transfer(ingress, context)
        through = await asyncio.to_thread(load.transfer, listens["bulk"], load.DOWN, SIZE)
        rates.append((without, through))
        direct = await rate(lambda: direct_once(ingress, context))
        forwarded = await load.connections(listens["echo"], SECONDS, AT_ONCE)
        opened.append((direct, forwarded))
        say(
            f"  pair {number + 1}: {without / 1e6:.0f} MB/s without, {through / 1e6:.0f} MB/s through; "
            f"{direct:.0f} connections/s without, {forwarded:.0f} through"
        )
    return Carried(
        median([through / without for without, through in rates]),
        median([through / without for without, through in opened]),
        rates,
        opened,
    )


async def direct_transfer(ingress: int, context: ResumingContext) -> float:
    began = time.perf_counter()
    await direct(ingress, context, PORTS["bulk"], load.DOWN + SIZE.to_bytes(8, "big"), SIZE)
    return SIZE / (time.perf_counter() - began)


async def direct_once(ingress: int, context: ResumingContext) -> None:
    await direct(ingress, context, PORTS["echo"], b"x", 1)


async def direct(ingress: int, context: ResumingContext, port: int, say: bytes, wanted: int) -> None:
    loop = asyncio.get_running_loop()
    transport, half = await loop.create_connection(
        lambda: Direct(port, say, wanted), "127.0.0.1", ingress, ssl=context, server_hostname="127.0.0.1"
    )
    await half.done
    context.keep(transport.get_extra_info("ssl_object"))
    transport.close()


async def rate(once: Callable[[], Awaitable[None]]) -> float:
    end, made = time.perf_counter() + SECONDS, 0

    async def worker() -> None:
        nonlocal made
        while time.perf_counter() < end:
            await once()
            made += 1

    began = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))
    return made / (time.perf_counter() - began)


# ---- what stands around it


def start(stack: ExitStack, *arguments: str, **environment: str) -> None:
    process = subprocess.Popen(
        [sys.executable, *arguments], env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=sys.stderr
    )
    stack.callback(process.wait, 30)
    stack.callback(process.terminate)


def agent_endpoint(name: str, port: int) -> str:
    return f"""apiVersion: ngrok.k8s.ngrok.com/v1alpha1
kind: AgentEndpoint
metadata: {{name: {name}}}
spec:
  url: tcp://{name}.shop:{PORTS[name]}
  upstream: {{url: "tcp://127.0.0.1:{port}"}}
  bindings: [kubernetes]
"""


async def registered(plane: ControlPlane, edge: RunningEdge) -> ResumingContext:
    """As the operator does it; gives a context with the same certificate."""
    provider = seamark_edge(edge.api_url, edge.api_key)
    csr, key = EcCertificates().request()
    found = await provider.register(Owner("bench", HOME, "seamark", "uid"), OperatorSpec(("true",), csr))
    await provider.close()
    pair = {"tls.crt": found.certificate.encode(), "tls.key": key.encode(), "ca.crt": Path(edge.ca).read_bytes()}
    data = {name: base64.b64encode(value).decode() for name, value in pair.items()}
    ask(plane, "/api/v1/namespaces", {"metadata": {"name": HOME}})
    ask(plane, f"/api/v1/namespaces/{HOME}/secrets", {"metadata": {"name": "default-tls"}, "data": data})
    head = {"apiVersion": KubernetesOperator.RESOURCE.api_version, "kind": "KubernetesOperator"}
    spec = {"binding": {"endpointSelectors": ["true"], "ingressEndpoint": found.ingress_endpoint}}
    ask(plane, KubernetesOperator.RESOURCE.path(HOME), {**head, "metadata": {"name": "seamark"}, "spec": spec})
    return context_of(Credentials(pair["tls.crt"], pair["tls.key"], pair["ca.crt"]))


def bound(plane: ControlPlane, name: str, listen: int) -> None:
    target = {"service": name, "namespace": "shop", "port": PORTS[name]}
    spec = {"endpointURL": f"tcp://{name}.shop:{PORTS[name]}", "scheme": "tcp", "port": listen, "target": target}
    head = {"apiVersion": BoundEndpoint.RESOURCE.api_version, "kind": "BoundEndpoint"}
    ask(plane, BoundEndpoint.RESOURCE.path(HOME), {**head, "metadata": {"name": name}, "spec": spec})


def ask(plane: ControlPlane, path: str, body: object) -> None:
    made = request(plane, "POST", path, body)
    assert made.code == 201, made.body


def serves(port: int) -> bool:
    try:
        return load.pings(port, 1) >= 0
    except OSError:
        return False
