"""Without privileges: Pods at loopback addresses of the embedded cluster, in this process."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import tempfile
import urllib.request
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop

from seamark_cluster.embedded.store import Settings, Store
from seamark_cluster.embedded.transport import EmbeddedTransport
from seamark_cluster.kubelet.images import Images
from seamark_cluster.kubelet.machine import Machine, MachineSettings
from seamark_runtime.api.core import ConfigMap, Pod, Service
from seamark_runtime.api.discovery import EndpointSlice
from seamark_runtime.api.meta import Key
from seamark_runtime.client import Client
from seamark_runtime.errors import Gone, UserError

SERVICES = "127.96.0.0/16"
SETTINGS = MachineSettings(network="loopback", dns_address="", port=0, services=SERVICES)


@asynccontextmanager
async def running() -> AsyncIterator[tuple[Client, Machine]]:
    transport = EmbeddedTransport(Store(settings=Settings(service_network=SERVICES)))
    machine = Machine(transport, SETTINGS, Images())
    work = asyncio.ensure_future(machine.run())
    try:
        async with asyncio.timeout(30):
            await machine.ready.wait()
            yield Client(transport, manager="test"), machine
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


async def until(condition: Callable[[], Coroutine[Any, Any, bool]]) -> None:
    """The caller's deadline is that of the whole test."""
    while not await condition():
        await asyncio.sleep(0.01)


def echo(port: int) -> dict[str, Any]:
    container = {
        "name": "echo",
        "image": "seamark.dev/echo",
        "env": [{"name": "PORT", "value": str(port)}],
        "readinessProbe": {"tcpSocket": {"port": port}},
    }
    return {"spec": {"containers": [container], "terminationGracePeriodSeconds": 2}}


async def is_ready(client: Client, name: str) -> bool:
    condition = (await client.get(Pod, Key("default", name))).condition("Ready")
    return condition is not None and condition.status == "True"


def test_pods_have_loopback_addresses_and_a_service_leads_to_them() -> None:
    async def program() -> None:
        async with running() as (client, machine):
            for name in ("one", "two"):
                await client.apply(Pod, Key("default", name), echo(18080))  # the same port, each at its own address
            await until(lambda: is_ready(client, "one"))
            await until(lambda: is_ready(client, "two"))
            pods = [await client.get(Pod, Key("default", name)) for name in ("one", "two")]
            assert {pod.status.pod_ip for pod in pods} == {"127.244.0.1", "127.244.0.2"}
            service = await client.apply(
                Service, Key("default", "echo"), {"spec": {"ports": [{"port": 18081, "name": "web"}]}}
            )
            endpoints = {
                "metadata": {"labels": {"kubernetes.io/service-name": "echo"}},
                "addressType": "IPv4",
                "endpoints": [{"addresses": [pod.status.pod_ip], "conditions": {"ready": True}} for pod in pods],
                "ports": [{"name": "web", "port": 18080}],
            }
            await client.apply(EndpointSlice, Key("default", "echo-1"), endpoints)

            async def listens() -> bool:
                return bool(machine.router.listening)

            await until(listens)
            assert service.spec is not None
            url = f"http://{service.spec.cluster_ip}:18081/"
            said = [await asyncio.to_thread(lambda: urllib.request.urlopen(url, timeout=5).read()) for _ in range(4)]
            assert {json.loads(answer)["pod"] for answer in said} == {"one", "two"}
            await client.delete(Pod, pods[0].key, uid=pods[0].uid)

            async def gone() -> bool:
                try:
                    await client.get(Pod, pods[0].key)
                except Gone:
                    return True
                return False

            await until(gone)

    uvloop.run(program())


def test_mounted_paths_are_rewritten() -> None:
    async def program() -> str:
        async with running() as (client, machine):
            await client.apply(ConfigMap, Key("default", "settings"), {"data": {"mode": "fast"}})
            container = {
                "name": "reader",
                "image": "seamark.dev/echo",
                "command": [sys.executable, "-c", "import sys; print(open(sys.argv[1]).read())", "/settings/mode"],
                "volumeMounts": [{"name": "settings", "mountPath": "/settings"}],
            }
            volumes = [{"name": "settings", "configMap": {"name": "settings"}}]
            spec = {"containers": [container], "volumes": volumes, "restartPolicy": "Never"}
            await client.apply(Pod, Key("default", "reader"), {"spec": spec})

            async def ended() -> bool:
                return (await client.get(Pod, Key("default", "reader"))).status.phase == "Succeeded"

            await until(ended)
            worker = machine.kubelet.workers[Key("default", "reader")]
            return (worker.directory / "logs/reader/0.log").read_text()

    assert uvloop.run(program()).endswith(" stdout F fast\n")


def test_a_port_that_is_taken_is_told_in_one_line_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def program(port: int) -> None:
        settings = MachineSettings(network="loopback", port=port, services=SERVICES)
        await Machine(EmbeddedTransport(Store()), settings, Images()).run()

    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(UserError, match="can't listen") as told:
        uvloop.run(program(taken.getsockname()[1]))
    assert "\n" not in told.value.message
    assert list(tmp_path.iterdir()) == []
