"""FAMILY=cluster: the embedded cluster against the real control plane, in one run.

- Status writes a second, by turns on both, 64 in flight; each server in processes of its own.
- How soon it is ready; how soon a Pod is; what a Service carries; a thousand Pods without processes.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from seamark.cli.manifests import Applier
from seamark.families.sample.family import GREETING
from seamark_cluster.network.closed import ClosedNetwork
from seamark_cluster.real.plane import ControlPlane, Options
from seamark_cluster.server.cluster import EmbeddedCluster
from seamark_runtime.api.crd import manifests
from seamark_runtime.client import APPLY_PATCH
from seamark_runtime.connection import connect
from seamark_runtime.http import HttpTransport
from tests.bench.families.cluster_sides import Caller, calling, each, embedded, resident_mb
from tests.bench.families.core import MANAGER, SAID, SCENARIO
from tests.bench.report import Finished, save
from tests.bench.spread import median
from tests.cluster.kubelet_machine import ECHO, a_pod, a_service, seconds_until_ready
from tests.cluster.test_routing import POUR, throughput

__all__ = ["SCENARIO", "bench"]  # restarts and kills are measured with the objects of the core

GREETINGS = "/apis/sample.seamark.dev/v1alpha1/namespaces/default/greetings"
PODS = "/api/v1/namespaces/default/pods"
STUBS = 1000
Say = Callable[[str], None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """What was measured, in one line that programs can read."""

    status_writes: float  # a second, on the embedded server
    vs_real: float
    ready_s: float
    process_ready_s: float
    pod_ready_p50_s: float
    service_vs_direct: float
    stubs: int
    stubs_s: float
    stubs_mb: float

    def text(self) -> str:
        return (
            f"cluster: status_writes={self.status_writes:.0f} vs_real={self.vs_real:.2f} ready_s={self.ready_s:.2f} "
            f"process_ready_s={self.process_ready_s:.2f} pod_ready_p50_s={self.pod_ready_p50_s:.2f} "
            f"service_vs_direct={self.service_vs_direct:.2f} stubs={self.stubs} stubs_s={self.stubs_s:.1f} "
            f"stubs_mb={self.stubs_mb:.0f}"
        )

    def missed(self) -> list[str]:
        least = {"vs_real": 1.0, "service_vs_direct": 0.4}
        most = {"ready_s": 1.0, "pod_ready_p50_s": 0.5}
        below = [f"{name} is below {limit:g}" for name, limit in least.items() if getattr(self, name) < limit]
        return below + [f"{name} is above {limit:g}" for name, limit in most.items() if getattr(self, name) > limit]


async def bench(asked: argparse.Namespace, say: Say) -> Finished:
    ready = await ready_seconds(say)
    ours, ratio, process = await status_writes(asked.n, asked.pairs, say)
    pod = await pod_ready(say)
    service = await through_a_service(say)
    stubs_s, stubs_mb = await stubs(say)
    result = Result(
        status_writes=ours,
        vs_real=ratio,
        ready_s=ready,
        process_ready_s=process,
        pod_ready_p50_s=pod,
        service_vs_direct=service,
        stubs=STUBS,
        stubs_s=stubs_s,
        stubs_mb=stubs_mb,
    )
    say(f"details are in {save('cluster', 'standard', dataclasses.asdict(result))}")
    return Finished(result.text(), tuple(result.missed()))


async def ready_seconds(say: Say) -> float:
    """In this process, with its controllers, until it answers over HTTPS."""
    found = []
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            cluster = EmbeddedCluster(Path(folder))
            await cluster.start()
            try:
                async with calling(cluster.kubeconfig, 1) as caller:
                    await caller.ask("GET", "/api/v1/namespaces/default")
                    found.append(time.monotonic() - began)
            finally:
                await cluster.close()
    say("ready in this process: " + ", ".join(f"{one:.2f} s" for one in found))
    return median(found)


# ---- status writes


async def status_writes(n: int, pairs: int, say: Say) -> tuple[float, float, float]:
    """Writes a second on the embedded server, that against the real one, and how soon the embedded process was up."""
    names = [f"object-{number:06}" for number in range(n)]
    with ExitStack() as stack:
        served = stack.enter_context(embedded("--no-node"))
        plane = stack.enter_context(ControlPlane(Options(controllers=False)))
        async with prepared(served.kubeconfig, names) as ours, prepared(plane.kubeconfig, names) as theirs:
            rounds: list[tuple[float, float]] = []
            for number in range(pairs):
                rounds.append((await write_all(ours, names, number), await write_all(theirs, names, number)))
                say(f"status writes a second: embedded {rounds[-1][0]:.0f}, real {rounds[-1][1]:.0f}")
    ratio = median([mine / other for mine, other in rounds])
    return median([mine for mine, _ in rounds]), ratio, served.seconds


@asynccontextmanager
async def prepared(kubeconfig: Path, names: list[str]) -> AsyncIterator[Caller]:
    """A server with the kind and the objects, and a client that writes to it."""
    transport = await HttpTransport(connect(str(kubeconfig))).open()
    try:
        applier = Applier(transport)
        await applier.apply(yaml.safe_load_all(manifests([GREETING])))
        await applier.known("sample.seamark.dev/v1alpha1", "Greeting")
    finally:
        await transport.close()
    async with calling(kubeconfig) as caller:
        rate = await each(names, lambda name: caller.ask("POST", GREETINGS, greeting(name)))
        del rate  # the user's part is not what is compared
        await write_all(caller, names, -1)
        yield caller


def greeting(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "sample.seamark.dev/v1alpha1",
        "kind": "Greeting",
        "metadata": {"name": name},
        "spec": {"text": "good morning"},
    }


async def write_all(caller: Caller, names: list[str], number: int) -> float:
    said = [{**one, "message": f"{one['message']} ({number})"} for one in SAID]
    identity = {"apiVersion": "sample.seamark.dev/v1alpha1", "kind": "Greeting"}

    def write(name: str) -> Any:
        body = {**identity, "metadata": {"name": name}, "status": {"conditions": said}}
        path = f"{GREETINGS}/{name}/status?fieldManager={MANAGER}&force=true"
        return caller.ask("PATCH", path, body, APPLY_PATCH)

    return await each(names, write)


# ---- Pods and Services


async def pod_ready(say: Say) -> float:
    """From its creation to Ready, a real process in a network of its own, one after the other."""
    container = {"readinessProbe": {"httpGet": {"path": "/healthz", "port": 3000}, "periodSeconds": 1}, "image": ECHO}
    with ClosedNetwork() as network, embedded("--network=bridge", f"--bind-address={network.node}") as served:
        pods = [a_pod(f"pod-{number}", container) for number in range(20)]
        seconds = await seconds_until_ready(served, "default", pods)
    say("a Pod is ready after " + ", ".join(f"{one:.2f}" for one in sorted(seconds)) + " s")
    return median(seconds)


async def through_a_service(say: Say) -> float:
    """What a connection through a Service carries of what it carries directly."""
    with tempfile.TemporaryDirectory() as folder, ClosedNetwork() as network:
        images = Path(folder, "images.yaml")
        images.write_text(yaml.safe_dump({"images": {"bench/pour": {"command": ["{python}", "-c", POUR]}}}))
        options = ("--network=bridge", f"--bind-address={network.node}", f"--images={images}")
        with embedded(*options) as served:
            async with calling(served.kubeconfig) as caller:
                pod, service = await poured(caller)
            pairs = [(throughput(pod, 9000, 0.6), throughput(service, 9000, 0.6)) for _ in range(5)]
    say("; ".join(f"{direct / 1e6:.0f} MB/s direct, {via / 1e6:.0f} through the Service" for direct, via in pairs))
    return median([via / direct for direct, via in pairs])


async def poured(caller: Caller) -> tuple[str, str]:
    """The addresses of a Pod that pours, and of the Service before it."""
    await caller.ask("POST", PODS, a_pod("pour", {"image": "bench/pour"}))
    made = await caller.ask("POST", "/api/v1/namespaces/default/services", a_service("pour", [{"port": 9000}]))
    while True:
        pod = await caller.ask("GET", f"{PODS}/pour")
        address, service = pod.get("status", {}).get("podIP", ""), made["spec"]["clusterIP"]
        if address and await listens(address) and await listens(service):
            return str(address), str(service)
        await asyncio.sleep(0.05)


async def listens(address: str) -> bool:
    try:
        _, writer = await asyncio.open_connection(address, 9000)
    except OSError:
        return False
    writer.close()
    return True


async def stubs(say: Say) -> tuple[float, float]:
    """A Deployment of many Pods without processes: until all are ready, and what the process is like then."""
    template = {
        "metadata": {"labels": {"app": "many"}},
        "spec": {"containers": [{"name": "main", "image": ECHO}]},
    }
    spec = {"replicas": STUBS, "selector": {"matchLabels": {"app": "many"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "many"}, "spec": spec}
    path = "/apis/apps/v1/namespaces/default/deployments"
    with embedded("--stub") as served:
        async with calling(served.kubeconfig) as caller:
            before, began = resident_mb(served.pid), time.monotonic()
            await caller.ask("POST", path, deployment)
            while (await caller.ask("GET", f"{path}/many")).get("status", {}).get("readyReplicas", 0) < STUBS:
                await asyncio.sleep(0.1)
            seconds, after = time.monotonic() - began, resident_mb(served.pid)
    say(f"{STUBS} Pods without processes: {seconds:.1f} s, {before:.0f} MB before, {after:.0f} MB with them")
    return seconds, after
