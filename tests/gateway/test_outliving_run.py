"""`seamark run` as a user starts it, without any setting about its Envoys: they serve on after it, and are adopted."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from seamark.gatewayapi.bundle import definitions
from seamark_cluster.server.cluster import ClusterSettings
from tests.cluster.embedded_cluster import Running, running_cluster
from tests.gateway.test_envoy import backend
from tests.gateway.test_outliving import client, running, some_address, until

COMMAND = (sys.executable, "-c", "from seamark.cli.main import main; main()")
PROGRAMMED = "jsonpath={.status.conditions[?(@.type=='Programmed')].status}"
OBJECTS = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: kgateway}
spec: {controllerName: kgateway.dev/kgateway}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: web, namespace: default}
spec:
  gatewayClassName: kgateway
  listeners: [{name: http, port: 8080, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: default}
spec:
  parentRefs: [{name: web}]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web, namespace: default, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: [{addresses: [127.0.0.1]}]
ports: [{port: PORT}]
"""


@dataclass
class Scene:
    """A cluster with a Gateway at `address`, and operators that are started on it."""

    home: Path
    cluster: Running
    address: str = field(default_factory=some_address)

    def environment(self, **more: str) -> dict[str, str]:
        found = {name: value for name, value in os.environ.items() if not name.startswith("SEAMARK_")}
        found |= {"XDG_STATE_HOME": str(self.home), "SEAMARK_GATEWAY_ADDRESSES": f"{self.address}/32"}
        return found | {"SEAMARK_HEALTH_ADDRESS": "", "SEAMARK_LEASE_DURATION": "3"} | more

    @contextmanager
    def operator(self, **more: str) -> Iterator[subprocess.Popen[bytes]]:
        flags = (
            "--families",
            "gateway",
            "--namespace",
            "default",
            "--kubeconfig",
            str(self.cluster.cluster.kubeconfig),
        )
        with (self.home / "operator.log").open("ab") as out:
            process = subprocess.Popen((*COMMAND, "run", *flags), stdout=out, stderr=out, env=self.environment(**more))
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(30)

    def stop(self, **more: str) -> subprocess.CompletedProcess[str]:
        command = (*COMMAND, "gateway", "stop")
        return subprocess.run(command, capture_output=True, text=True, check=False, env=self.environment(**more))

    @property
    def programmed(self) -> str:
        return self.cluster.output("get", "gateway", "web", "-o", PROGRAMMED)


Story = Callable[[Scene], Awaitable[None]]


@pytest.fixture
def tell(tmp_path: Path) -> Callable[[Story], None]:
    async def story(scene: Scene, told: Story) -> None:
        async with backend("web") as port:
            scene.cluster.output("apply", "-f", "-", stdin=OBJECTS.replace("PORT", str(port)))
            await told(scene)

    def tell(told: Story) -> None:
        with (
            running_cluster(tmp_path / "cluster", ClusterSettings()) as cluster,
            tempfile.TemporaryDirectory() as home,  # a short path
        ):
            scene = Scene(Path(home), cluster)
            cluster.output("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(definitions()))
            try:
                asyncio.run(story(scene, told))
            finally:
                scene.stop()

    return tell


async def served(scene: Scene) -> None:
    async with client(scene.address) as answers:
        await until(lambda: "200" in answers, "the gateway answers")
    await until(lambda: scene.programmed == "True", "its status follows")


def test_an_operator_that_is_killed_leaves_its_gateways_served_and_the_next_one_adopts_them(
    tell: Callable[[Story], None],
) -> None:
    async def story(scene: Scene) -> None:
        with scene.operator() as first:
            await served(scene)
            before = running(scene.home)
            assert len(before) == 1
            async with client(scene.address) as answers:
                first.send_signal(signal.SIGKILL)
                await asyncio.to_thread(first.wait, 30)
                await asyncio.sleep(2)
                with scene.operator() as second:
                    log = scene.home / "operator.log"
                    await until(lambda: "envoy adopted" in log.read_text(), "the next operator adopts it")
                    assert "an operator runs the Envoys" in scene.stop().stderr
                    second.terminate()
                    await asyncio.to_thread(second.wait, 30)
                await asyncio.sleep(1)
        assert set(answers) == {"200"}, answers
        assert running(scene.home) == before
        assert scene.programmed == "True"
        ended = scene.stop()
        assert ended.stdout == "1 ended\n", ended.stderr
        assert running(scene.home) == []

    tell(story)


def test_with_none_they_end_with_the_operator(tell: Callable[[Story], None]) -> None:
    async def story(scene: Scene) -> None:
        with scene.operator(SEAMARK_GATEWAY_STATE="none") as process:
            await served(scene)
            process.terminate()
            await asyncio.to_thread(process.wait, 30)
        async with client(scene.address) as answers:
            await until(lambda: bool(answers), "a client tries")
        assert "200" not in answers
        assert "end with their operator" in scene.stop(SEAMARK_GATEWAY_STATE="none").stderr

    tell(story)
