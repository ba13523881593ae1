"""seamark cluster serve: the embedded cluster as a program, its state over restarts, and what a person does wrong."""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from seamark_cluster.real.binaries import find
from seamark_cluster.server.cluster import ClusterSettings
from tests.cluster.embedded_cluster import running_cluster
from tests.cluster.requests import eventually

START = "from seamark.cli.main import main; main()"

# As root, a program without any of root's rights; others have none anyway.
POWERLESS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"] if os.geteuid() == 0 else []


class Served:
    def __init__(self, home: Path, *options: str, before: Sequence[str] = ()) -> None:
        self._home = home
        self._log = home / "said"
        environment = {**os.environ, "XDG_STATE_HOME": str(home), "TMPDIR": str(home)}
        command = [*before, sys.executable, "-c", START, "cluster", "serve", *options]
        with self._log.open("wb") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, env=environment)
        eventually(lambda: "export KUBECONFIG" in self.output or self.process.poll() is not None, "it is up", 60)
        assert self.process.poll() is None, self.output

    @property
    def output(self) -> str:
        return self._log.read_text()

    def kubectl(self, *arguments: str, stdin: str = "") -> str:
        config = self._home / "seamark/cluster/embedded/kubeconfig"
        command = [str(find().kubectl), "--kubeconfig", str(config), *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


@contextmanager
def served(home: Path, *options: str, before: Sequence[str] = ()) -> Iterator[Served]:
    running = Served(home, *options, before=before)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.end(signal.SIGTERM)


def test_what_was_answered_survives_a_kill_with_its_pods(tmp_path: Path) -> None:
    state = f"--state={tmp_path / 'state'}"
    with served(tmp_path, state) as first:
        first.kubectl("create", "configmap", "kept", "--from-literal=a=b")
        first.kubectl("create", "deployment", "web", "--image=seamark.dev/echo", "--port=3000", "--replicas=2")
        first.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        pods = first.kubectl("get", "pods", "-o", "custom-columns=N:.metadata.name,U:.metadata.uid")
        version = int(first.kubectl("get", "configmap", "kept", "-o", "jsonpath={.metadata.resourceVersion}"))
        first.end(signal.SIGKILL)
    with served(tmp_path, state) as second:
        assert second.kubectl("get", "configmap", "kept", "-o", "jsonpath={.data.a}") == "b"
        assert second.kubectl("get", "pods", "-o", "custom-columns=N:.metadata.name,U:.metadata.uid") == pods
        second.kubectl("wait", "--for=condition=Ready", "pod", "--all", "--timeout=60s")
        second.kubectl("create", "configmap", "later")
        later = second.kubectl("get", "configmap", "later", "-o", "jsonpath={.metadata.resourceVersion}")
        assert int(later) > version
        assert second.end(signal.SIGTERM) == 0


def test_without_a_state_file_everything_is_gone_after_it(tmp_path: Path) -> None:
    with served(tmp_path, "--no-node") as first:
        first.kubectl("create", "configmap", "brief")
        assert first.end(signal.SIGINT) == 0
    with served(tmp_path, "--no-node") as second:
        assert "brief" not in second.kubectl("get", "configmaps", "-o", "name")


def test_a_port_in_use_is_told_in_one_line_and_nothing_else_stops(tmp_path: Path) -> None:
    with (
        running_cluster(tmp_path / "first") as running,
        socket.create_server(("127.0.0.1", 0)) as taken,
    ):
        port = taken.getsockname()[1]
        command = [sys.executable, "-c", START, "cluster", "serve", f"--port={port}", "--no-node"]
        environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert f"the API server can't listen on 127.0.0.1:{port} (Address already in use)" in done.stderr
        assert "default" in running.output("get", "namespaces")


def test_without_privileges_pods_run_at_loopback_addresses_and_a_service_leads_to_them(tmp_path: Path) -> None:
    with served(tmp_path, "--network=auto", before=POWERLESS) as cluster:
        cluster.kubectl("create", "deployment", "web", "--image=seamark.dev/echo", "--port=3000", "--replicas=2")
        cluster.kubectl("expose", "deployment", "web", "--port=18085", "--target-port=3000")
        cluster.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        addresses = cluster.kubectl("get", "pods", "-o", "jsonpath={.items[*].status.podIP}").split()
        assert [ipaddress.ip_address(address).is_loopback for address in addresses] == [True, True]
        service = cluster.kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
        assert ipaddress.ip_address(service).is_loopback
        eventually(lambda: answers(service, 18085), "the Service answers")
        eventually(lambda: "listening" in cluster.kubectl("logs", "deployment/web"), "its log")


def test_two_on_one_machine_give_out_no_address_twice(tmp_path: Path) -> None:
    homes = [tmp_path / "one", tmp_path / "two"]
    for home in homes:
        home.mkdir()
    with served(homes[0]) as one, served(homes[1]) as two:
        for cluster in (one, two):
            cluster.kubectl("create", "deployment", "web", "--image=seamark.dev/echo", "--port=3000")
            cluster.kubectl("expose", "deployment", "web", "--port=18086", "--target-port=3000")
        for cluster in (one, two):
            cluster.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
        places = [
            cluster.kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}") for cluster in (one, two)
        ]
        pods = [cluster.kubectl("get", "pods", "-o", "jsonpath={.items[*].status.podIP}") for cluster in (one, two)]
        assert len({*places, *pods}) == 4
        for place in places:
            eventually(lambda at=place: answers(at, 18086), f"{place} answers")  # type: ignore[misc]


def answers(host: str, port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://{host}:{port}/", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def test_without_privileges_a_bridge_is_refused_in_one_line(tmp_path: Path) -> None:
    command = [*POWERLESS, sys.executable, "-c", START, "cluster", "serve", "--network=bridge"]
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert done.returncode == 2
    assert "network namespaces need root's rights here" in done.stderr
    assert done.stderr.count("\n") == 1


def test_it_is_ready_within_a_second(tmp_path: Path) -> None:
    with running_cluster(tmp_path, ClusterSettings()) as running:
        assert running.start_seconds < 1
