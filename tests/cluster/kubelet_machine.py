"""A whole cluster in a closed network: a real control plane, the process kubelet, routed Services and DNS."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Protocol

import yaml

from seamark_cluster.kubelet.credentials import KubeletPki
from seamark_cluster.network.closed import ClosedNetwork
from seamark_cluster.real.plane import ControlPlane, Options, User
from seamark_runtime.api.core import Pod
from seamark_runtime.api.meta import Key
from seamark_runtime.client import Client
from seamark_runtime.connection import connect
from seamark_runtime.http import HttpTransport
from seamark_runtime.source import Informer
from seamark_runtime.watch import Watch
from tests.cluster.requests import eventually, request
from tests.cluster.rights import OPERATOR

START = "from seamark_cluster.commands.kubelet import app; app()"
ECHO = "seamark.dev/echo:v1"


@dataclass
class Machine:
    plane: ControlPlane
    command: list[str]
    log: Path
    kubelet: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        """Starts the kubelet, a second time too."""
        with self.log.open("wb") as out:
            self.kubelet = subprocess.Popen(
                self.command, stderr=out, env={**os.environ, "TMPDIR": str(self.log.parent)}
            )
        eventually(lambda: "node is ready" in self.log.read_text() or self.kubelet.poll() is not None, "a node", 120)
        assert self.kubelet.poll() is None, self.log.read_text()

    def apply(self, *documents: dict[str, Any], namespace: str) -> None:
        self.plane.kubectl("apply", "-n", namespace, "-f", "-", stdin=yaml.safe_dump_all(documents))

    def get(self, path: str) -> dict[str, Any]:
        return request(self.plane, "GET", path).body

    def pod(self, namespace: str, name: str) -> dict[str, Any]:
        return self.get(f"/api/v1/namespaces/{namespace}/pods/{name}")

    def ready(self, namespace: str, name: str) -> bool:
        return condition(self.pod(namespace, name), "Ready") == "True"

    def logs(self, namespace: str, name: str, *options: str) -> str:
        return self.plane.kubectl("logs", "-n", namespace, name, *options)

    def ended(self, namespace: str, name: str, seconds: float = 30) -> str:
        """The log of a Pod that runs to its end."""
        phases = ("Succeeded", "Failed")
        eventually(
            lambda: self.pod(namespace, name).get("status", {}).get("phase") in phases, f"{name} has ended", seconds
        )
        return self.logs(namespace, name)

    def namespace(self, name: str) -> str:
        made = request(self.plane, "POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        assert made.code == 201, made.body
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"  # without it the API server takes no Pods
        eventually(lambda: request(self.plane, "GET", account).code == 200, "the namespace has its service account")
        return name


@contextmanager
def running_machine(
    *options: str,
    table: dict[str, Any] | None = None,
    users: tuple[User, ...] = (User(OPERATOR),),
    server: tuple[str, ...] = (),
) -> Iterator[Machine]:
    """With these options of the kubelet, images, users, and further flags of the API server."""
    with ClosedNetwork() as network, tempfile.TemporaryDirectory() as folder:
        pki, images, log = Path(folder, "pki"), Path(folder, "images.yaml"), Path(folder, "kubelet.log")
        images.write_text(yaml.safe_dump({"images": table or {}}))
        flags = (*KubeletPki(pki).api_server_flags(), *server)
        with ControlPlane(Options(users=users, bind_address=network.node, api_server_flags=flags)) as plane:
            command = [sys.executable, "-c", START, f"--kubeconfig={plane.kubeconfig}", f"--pki={pki}"]
            machine = Machine(plane, [*command, f"--images={images}", *options], log)
            try:
                machine.start()
                yield machine
            finally:
                machine.kubelet.terminate()
                machine.kubelet.wait(90)


def condition(pod: dict[str, Any], type_: str) -> str:
    found = (one["status"] for one in pod.get("status", {}).get("conditions", ()) if one["type"] == type_)
    return str(next(found, "Unknown"))


def a_pod(name: str, container: dict[str, Any], **spec: Any) -> dict[str, Any]:
    whole = {"terminationGracePeriodSeconds": 5, **spec, "containers": [{"name": "main", "image": ECHO, **container}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": whole}


def python(name: str, code: str, container: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A Pod that runs a program to its end."""
    inside = {"command": [sys.executable, "-c", code], **(container or {})}
    return a_pod(name, inside, **{"restartPolicy": "Never", **spec})


def echo_deployment(name: str, replicas: int = 3) -> list[dict[str, Any]]:
    """A Deployment of the echo image, and a Service in front of it."""
    container = {
        "name": "echo",
        "image": ECHO,
        "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "ports": [{"name": "http", "containerPort": 3000}],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": "http"}, "periodSeconds": 1},
    }
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 5},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    return [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec},
        a_service(name, [{"name": "web", "port": 80, "targetPort": "http"}]),
    ]


def a_service(name: str, ports: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
    whole = {"selector": {"app": name}, "ports": ports, **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": whole}


def endpoints(machine: Machine, namespace: str, service: str) -> list[str]:
    """The addresses of a Service's ready endpoints."""
    path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
    found = []
    for one in machine.get(f"{path}?labelSelector=kubernetes.io/service-name={service}")["items"]:
        found += [each["addresses"][0] for each in one["endpoints"] or () if each["conditions"].get("ready")]
    return sorted(found)


def processes(text: str) -> list[int]:
    """Processes that have this text in their environment or command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if text.encode() in (entry / "environ").read_bytes() + b"\0" + (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@contextmanager
def killed_again_and_again(text: str) -> Iterator[None]:
    """Processes that have this text, however often the kubelet starts them anew."""
    over = threading.Event()

    def kill() -> None:
        while not over.wait(0.2):
            for number in processes(text):
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        over.set()
        killer.join()


def interface(address: str) -> str:
    """The name of a Pod's end at the bridge."""
    return "sm" + "".join(f"{int(part):02x}" for part in address.split("."))


def interfaces() -> list[str]:
    """The Pods' ends at the bridge, in this network."""
    lines = Path("/proc/thread-self/net/dev").read_text().splitlines()[2:]
    return [name for line in lines if (name := line.split(":")[0].strip()).startswith("sm")]


class Reached(Protocol):
    """A cluster that a kubeconfig leads to."""

    @property
    def kubeconfig(self) -> Path: ...


async def seconds_until_ready(
    plane: Reached, namespace: str, manifests: list[dict[str, Any]], at_once: int = 1
) -> list[float]:
    """Creates Pods, so many at once, and follows them by watch: how long each took from its creation to Ready."""
    transport = await HttpTransport(connect(str(plane.kubeconfig), "")).open()
    client = Client(transport, manager="test")
    informer = Informer(Watch(client, Pod, Random(), namespace=namespace))
    changed: dict[str, asyncio.Event] = {one["metadata"]["name"]: asyncio.Event() for one in manifests}

    def look(_: object, change: Any) -> None:
        ready = None if change.after is None else change.after.condition("Ready")
        if ready is not None and ready.status == "True":
            changed[change.key.name].set()

    informer.on_change(look)
    following = asyncio.create_task(informer.watch.run(informer.handle))
    places = asyncio.Semaphore(at_once)

    async def one(manifest: dict[str, Any]) -> float:
        async with places:
            began = time.monotonic()
            name = manifest["metadata"]["name"]
            await client.apply(Pod, Key(namespace, name), manifest)
            async with asyncio.timeout(60):
                await changed[name].wait()
            return time.monotonic() - began

    try:
        return await asyncio.gather(*(one(manifest) for manifest in manifests))
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await transport.close()
