"""The whole path: agents at a real edge, the operator, forwarders as Pods, and Pods that read bytes through all of it.

A real control plane in a closed network, with Pods that really run, Services that route, and cluster DNS. The official
Python SDK can't ask for the kubernetes binding: so an endpoint that the edge keeps has it, and forwards to what the SDK
holds. The Go SDK can, and does.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

from seamark.families.bindings.family import CRDS, controllers
from seamark.families.bindings.model.options import Options
from seamark.families.bindings.model.targets import parse
from seamark.providers.edge.seamark import seamark_edge
from tests.cluster.bindings_world import Bindings
from tests.cluster.kubelet_machine import Machine, a_pod, endpoints, processes, python, running_machine
from tests.cluster.requests import install
from tests.cluster.score_operator import running
from tests.edge.running import RunningEdge
from tests.edge.sdks import AgentProgram, start_agent
from tests.edge.services import echo, service
from tests.sources import PYTHONPATH

NODE = "10.244.0.1"
SHELF_LIFE = Options.shelf_life
HOME = "seamark-system"
FORWARDER = {
    "test/forwarder": {
        "command": ["{python}", "-c", "from seamark.cli.forwarder import app; app()"],
        "env": {"PYTHONPATH": PYTHONPATH, "SEAMARK_HEALTH_ADDRESS": ":8081", "SEAMARK_FORWARDER_SECRET_READS": "1"},
    }
}
TALK = """
import socket
connection = socket.create_connection(({host!r}, {port}), 20)
connection.sendall(b"hello from a pod")
print(connection.recv(100).decode())
"""


class WholePath:
    """Everything between an agent and a Pod."""

    def __init__(self, machine: Machine, edge: RunningEdge, stack: ExitStack) -> None:
        self.machine = machine
        self.edge = edge
        self._stack = stack
        self._count = 0
        self.world = Bindings(machine.plane, Options(namespace=HOME), "shop")
        self.upstream = stack.enter_context(service(echo))

    def agent(self, sdk: str) -> AgentProgram:
        program = start_agent(sdk)
        self._stack.callback(program.kill)
        address = f"{NODE}:{self.edge.ports['agent_port']}"
        program.must("connect", **{**self.edge.connection(), "address": address})
        return program

    def go(self, url: str) -> AgentProgram:
        """An agent on the Go SDK that asks for the binding by itself."""
        agent = self.agent("go")
        agent.must("forward", url=url, upstream=f"tcp://{self.upstream}", bindings=["kubernetes"], pooling=True)
        return agent

    def ours(self, url: str, upstream: str) -> AgentProgram:
        """Our own agent, which reports whether the upstream accepts."""
        agent = self.agent("seamark")
        agent.must("forward", url=url, upstream=f"tcp://{upstream}", bindings=["kubernetes"], pooling=True)
        return agent

    def python(self, url: str) -> str:
        """An agent on the Python SDK behind an endpoint that has the binding; gives that one's id."""
        self._count += 1
        place = f"tcp://python-{self._count}.internal:7"
        self.agent("python").must("forward", url=place, upstream=f"tcp://{self.upstream}")
        action = {"type": "forward-internal", "config": {"url": place}}
        body = {
            "type": "cloud",
            "url": url,
            "bindings": ["kubernetes"],
            "pooling_enabled": True,
            "traffic_policy": json.dumps({"on_tcp_connect": [{"actions": [action]}]}),
        }
        status, made = self.edge.api("POST", "/endpoints", body)
        assert status == 201, made
        return str(made["id"])

    def read_by_pod(self, name: str, host: str, port: int) -> str:
        """What a Pod gets that says hello there."""
        self.machine.apply(python(name, TALK.format(host=host, port=port)), namespace="shop")
        return self.machine.ended("shop", name, 60).strip()

    def forwarders(self) -> list[str]:
        pods = self.machine.get(f"/api/v1/namespaces/{HOME}/pods")["items"]
        return [pod["metadata"]["name"] for pod in pods]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WholePath]:
    with running_machine(table=FORWARDER) as machine, ExitStack() as stack:
        state = tmp_path_factory.mktemp("edge") / "state"
        edge = RunningEdge(state, bind="0.0.0.0", public_host=NODE, lease_seconds=1)
        stack.callback(edge.close)
        for crd in CRDS:
            install(machine.plane, crd)
        machine.namespace(HOME)
        machine.namespace("shop")
        found = WholePath(machine, edge, stack)
        ca = Path(edge.ca).read_text()
        options = Options(namespace=HOME, poll=0.5, probe_every=1.0, gone_grace=0.0, edge_ca=ca)
        provider = seamark_edge(edge.api_url, edge.api_key)
        operator = stack.enter_context(running(machine.plane, controllers(options, provider)))
        stack.callback(lambda: asyncio.run_coroutine_threadsafe(provider.close(), operator._loop).result(10))
        found.world.install()
        for number in (1, 2):
            machine.apply(forwarder_pod(machine, f"forwarder-{number}"), namespace=HOME)
        yield found


def forwarder_pod(machine: Machine, name: str) -> dict[str, Any]:
    container = {
        "image": "test/forwarder",
        "args": [f"--kubeconfig={machine.plane.kubeconfig}"],
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": 8081}, "periodSeconds": 1},
    }
    pod = a_pod(name, container)
    pod["metadata"]["labels"]["app.kubernetes.io/component"] = "bindings-forwarder"
    return pod


def test_a_pod_reads_bytes_through_dns_target_upstream_and_forwarder_from_a_python_agent(path: WholePath) -> None:
    url = "tcp://my-service.shop:7000"
    path.python(url)
    path.world.until_condition(parse(url).name, "Ready", "Unknown", "UpstreamNotConfirmed", seconds=90)
    assert path.read_by_pod("reader-1", "my-service", 7000) == "hello from a pod"
    assert path.read_by_pod("reader-2", "my-service.shop.svc.cluster.local", 7000) == "hello from a pod"
    assert len(endpoints(path.machine, HOME, parse(url).name)) == 2  # both replicas serve it


def test_ready_is_true_while_the_far_upstream_accepts_and_no_longer(path: WholePath) -> None:
    url = "tcp://seen.shop:7010"
    with service(echo) as upstream:
        agent = path.ours(url, upstream)
        path.world.until_condition(parse(url).name, "Ready", "True", seconds=90)
        assert path.read_by_pod("reader-10", "seen", 7010) == "hello from a pod"
        for frozen in (path.edge.process.pid, agent.process.pid):
            os.kill(frozen, signal.SIGSTOP)
            try:
                path.world.until_condition(parse(url).name, "Ready", "False", "ConnectivityFailed", seconds=SHELF_LIFE)
            finally:
                os.kill(frozen, signal.SIGCONT)
            path.world.until_condition(parse(url).name, "Ready", "True", seconds=60)
    found = path.world.until_condition(parse(url).name, "Ready", "False", "ConnectivityFailed", seconds=SHELF_LIFE)
    assert "the far upstream did not accept: Connection refused" in found["message"]


def test_two_agents_on_one_target_one_leaves_and_both_leave(path: WholePath) -> None:
    """With the Python SDK, as people would watch it."""
    url = "tcp://twice.shop:7001"
    one, two = path.python(url), path.python(url)
    path.world.until_condition(parse(url).name, "Ready", "Unknown", "UpstreamNotConfirmed", seconds=90)
    path.world.until(lambda: summary(path, url) == "2 endpoints", "both are bound")
    path.edge.api("DELETE", f"/endpoints/{one}")
    path.world.until(lambda: summary(path, url) == "1 endpoint", "one has left")
    assert path.world.condition(parse(url).name, "Ready")["status"] != "False"
    assert path.read_by_pod("reader-3", "twice", 7001) == "hello from a pod"
    path.edge.api("DELETE", f"/endpoints/{two}")
    path.world.until_gone(path.world.path(parse(url).name), "both have left")
    assert path.world.target(url) == {}
    assert path.world.upstream(url) == {}


def test_agents_on_the_go_sdk_ask_for_the_binding_themselves(path: WholePath) -> None:
    url = "http://go.shop"
    one, two = path.go(url), path.go(url)
    path.world.until_condition(parse(url).name, "Ready", "Unknown", "UpstreamNotConfirmed", seconds=90)
    path.world.until(lambda: summary(path, url) == "2 endpoints", "both are bound")
    one.kill()
    path.world.until(lambda: summary(path, url) == "1 endpoint", "one has left", 60)
    assert path.read_by_pod("reader-4", "go", 80) == "hello from a pod"
    two.kill()
    path.world.until_gone(path.world.path(parse(url).name), "both have left")


def test_the_edge_is_told_which_pod_it_is_or_that_it_is_not_known(path: WholePath) -> None:
    """Pods that come by the Service come through a proxy here; one that goes to a forwarder directly shows itself."""
    url = "tcp://who.shop:7002"
    path.python(url)
    path.world.until_condition(parse(url).name, "Ready", "Unknown", "UpstreamNotConfirmed", seconds=90)
    port = path.world.bound(url)["spec"]["port"]
    address = path.machine.pod(HOME, "forwarder-1")["status"]["podIP"]
    assert path.read_by_pod("teller", address, port) == "hello from a pod"
    uid = path.machine.pod("shop", "teller")["metadata"]["uid"]
    path.world.until(lambda: "shop/teller" in path.edge.log and uid in path.edge.log, "the edge knows the Pod")
    assert answers(address, port)  # from the node
    metrics = read_metrics(path, "forwarder-1")
    assert metrics["seamark_forwarder_unidentified_total"] >= 1
    assert metrics["seamark_forwarder_resumed_total"] >= 1


def test_an_agent_that_goes_away_in_mid_connection_closes_the_pods_connection(path: WholePath) -> None:
    url = "tcp://brittle.shop:7003"
    agent = path.go(url)
    path.world.until_condition(parse(url).name, "Ready", "Unknown", "UpstreamNotConfirmed", seconds=90)
    address = path.world.upstream(url)["spec"]["clusterIP"]
    with socket.create_connection((address, 7003), 20) as connection:
        connection.settimeout(30)
        connection.sendall(b"are you there")
        assert connection.recv(100) == b"are you there"
        agent.kill()
        with suppress(ConnectionResetError):
            assert connection.recv(100) == b""


def test_a_forwarder_that_stops_drains_and_another_one_serves(path: WholePath) -> None:
    url = "tcp://drained.shop:7004"
    path.python(url)
    path.world.until_condition(parse(url).name, "Ready", "Unknown", "UpstreamNotConfirmed", seconds=90)
    port = path.world.bound(url)["spec"]["port"]
    path.machine.apply(forwarder_pod(path.machine, "forwarder-3"), namespace=HOME)
    path.world.until(lambda: path.machine.ready(HOME, "forwarder-3"), "a third one is ready")
    address = path.machine.pod(HOME, "forwarder-3")["status"]["podIP"]
    path.world.until(lambda: answers(address, port), "it serves")
    with socket.create_connection((address, port), 20) as connection:
        connection.sendall(b"one")
        assert connection.recv(100) == b"one"
        path.machine.plane.kubectl("delete", "pod", "-n", HOME, "forwarder-3", "--wait=false")
        path.world.until(lambda: refuses(address, port), "it takes no new connections")
        connection.sendall(b"two")
        assert connection.recv(100) == b"two"
    assert path.read_by_pod("reader-5", "drained", 7004) == "hello from a pod"


def test_what_the_edge_no_longer_binds_is_no_longer_listened_on_and_its_port_leads_nowhere_old(path: WholePath) -> None:
    """Failure 6 of the Go operator."""
    url = "tcp://passing.shop:7005"
    ident = path.python(url)
    path.world.until_condition(parse(url).name, "Ready", "Unknown", "UpstreamNotConfirmed", seconds=90)
    port = path.world.bound(url)["spec"]["port"]
    address = path.machine.pod(HOME, "forwarder-1")["status"]["podIP"]
    path.world.until(lambda: answers(address, port), "it is served")
    (pid,) = processes("forwarder-1") or processes(address)
    os.kill(pid, signal.SIGSTOP)  # it misses what happens now
    path.edge.api("DELETE", f"/endpoints/{ident}")
    path.world.until_gone(path.world.path(parse(url).name), "it is gone")
    path.python("tcp://new.shop:7006")
    path.world.until_condition(parse("tcp://new.shop:7006").name, "ServicesCreated", "True", seconds=90)
    assert path.world.bound("tcp://new.shop:7006")["spec"]["port"] != port
    os.kill(pid, signal.SIGCONT)
    path.world.until(lambda: refuses(address, port), "no process listens there any more")


def test_an_edge_that_cant_be_reached_is_told_and_nothing_is_deleted(path: WholePath) -> None:
    url = "tcp://stays.shop:7007"
    path.go(url)
    path.world.until_condition(parse(url).name, "Ready", "Unknown", "UpstreamNotConfirmed", seconds=90)
    before = {one["metadata"]["uid"] for one in path.world.all_bound()}
    path.edge.kill()
    try:

        def told() -> bool:
            found = path.world.installed("Ready")
            return (found["status"], found["reason"]) == ("False", "EdgeUnreachable")

        path.world.until(told, "the installation reports it", 90)
        path.world.until_condition(parse(url).name, "ConnectivityVerified", "False", seconds=60)
        assert {one["metadata"]["uid"] for one in path.world.all_bound()} >= before
    finally:
        path.edge.start()
    path.world.until_condition(
        parse(url).name, "Ready", "Unknown", "UpstreamNotConfirmed", seconds=120
    )  # the agent comes back by itself


def summary(path: WholePath, url: str) -> str:
    return str((path.world.bound(url).get("status") or {}).get("endpointsSummary"))


def answers(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), 5) as connection:
            connection.settimeout(5)
            connection.sendall(b"?")
            return bool(connection.recv(1) == b"?")
    except OSError:
        return False


def refuses(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), 5).close()
    except OSError:
        return True
    return False


def read_metrics(path: WholePath, pod: str) -> dict[str, float]:
    address = path.machine.pod(HOME, pod)["status"]["podIP"]
    code = f"import urllib.request as r; print(r.urlopen('http://{address}:8081/metrics', timeout=10).read().decode())"
    text = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {name: float(value) for name, value in lines}
