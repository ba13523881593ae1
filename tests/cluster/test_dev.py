"""seamark dev, as a person starts it."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from seamark.gatewayapi.bundle import definitions
from seamark_cluster.network.closed import ClosedNetwork
from tests.cluster.embedded_cluster import running_cluster
from tests.cluster.kubelet_machine import processes
from tests.cluster.requests import eventually

COMMAND = [sys.executable, "-c", "from seamark.cli.main import main; main()", "dev"]
POWERLESS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
HOST = "127.0.0.1"


@pytest.fixture(autouse=True)
def own_network() -> Iterator[None]:
    """All loopback addresses are this test's own: other clusters on this machine have the same."""
    definitions()  # while there is a way out of this machine
    with ClosedNetwork():
        yield


def dev(*arguments: str, before: list[str] | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [*(before or []), *COMMAND, *arguments]
    environment = {**os.environ, **variables}
    return subprocess.run(command, capture_output=True, text=True, timeout=180, check=False, env=environment)


def count(done: subprocess.CompletedProcess[str]) -> tuple[int, int]:
    said = re.search(r"dev: ready_s=([\d.]+) examples=(\d+)/(\d+)", done.stdout)
    assert said is not None, done.stdout + done.stderr
    return int(said[2]), int(said[3])


@contextmanager
def in_use(*ports: int) -> Iterator[None]:
    with ExitStack() as stack:
        for port in ports:
            somebody = stack.enter_context(socket.socket())
            somebody.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                somebody.bind((HOST, port))
                somebody.listen()
            except OSError:
                continue  # taken is taken, by whomever
        yield


def test_every_example_answers_and_nothing_is_left_behind(tmp_path: Path) -> None:
    done = dev("--check", TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    examples = [folder for folder in Path("examples").iterdir() if any(folder.glob("*.yaml"))]
    assert count(done) == (len(examples), len(examples))
    assert list(tmp_path.iterdir()) == []
    assert processes(str(tmp_path)) == []


def test_what_can_not_run_here_is_said_and_left_out(tmp_path: Path) -> None:
    """No Envoy, ports in use, no rights to make networks or to listen below 1024."""
    with in_use(10053, 4040):
        done = dev(
            *("--check", "--network", "bridge"),
            before=POWERLESS,
            TMPDIR=str(tmp_path),
            SEAMARK_GATEWAY_ENVOY=str(tmp_path / "none"),
        )
    assert done.returncode == 0, done.stderr
    for words in (
        "no rights to create networks",
        "no gateways: gateway_envoy names",
        "port 10053 is in use: the name server is 10",
        "port 4040 is in use: the edge's api port is 4",
        "skipping example story: it needs Envoy",
    ):
        assert words in done.stderr
    true, there = count(done)
    assert true == there == len(list(Path("examples").iterdir())) - 2


def test_on_a_real_control_plane_what_needs_pods_is_left_out() -> None:
    done = dev("--check", "--cluster", "real")
    assert done.returncode == 0, done.stderr
    assert "skipping example score: it needs a node" in done.stderr
    true, there = count(done)
    assert true == there > 0


def test_ctrl_c_ends_everything(tmp_path: Path) -> None:
    output, state = tmp_path / "output", tmp_path / "state"
    state.mkdir()
    environment = {**os.environ, "TMPDIR": str(state), "COLUMNS": "300"}
    with output.open("w") as screen:
        running = subprocess.Popen(COMMAND, stdout=screen, stderr=screen, env=environment)
    try:
        for address in ("export KUBECONFIG=", "The console: http://127.0.0.1:", "dig @127.0.0.1", "curl -H 'Host:"):
            eventually(lambda address=address: address in output.read_text(), address, 60)  # type: ignore[misc]
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 0, output.read_text()
    finally:
        running.kill()
        running.wait()
    assert list(state.iterdir()) == []
    assert processes(str(state)) == []


@pytest.mark.parametrize("cluster", ["embedded", "real"])
def test_sigterm_while_it_starts_leaves_nothing_behind(tmp_path: Path, cluster: str) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    running = subprocess.Popen(
        [*COMMAND, "--cluster", cluster], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    try:
        eventually(lambda: any(tmp_path.iterdir()), "it starts", 60)
        running.send_signal(signal.SIGTERM)
        output, _ = running.communicate(timeout=30)
        assert running.returncode == 0, output
    finally:
        running.kill()
        running.wait()
    locks = f"seamark-ports-{os.getuid()}"  # which ports are in use: for all processes of this user
    assert {path.name for path in tmp_path.iterdir()} <= {locks}
    assert processes(str(tmp_path)) == []


def test_a_cluster_that_is_there_already_is_used(tmp_path: Path) -> None:
    with running_cluster(tmp_path) as running:
        done = dev("--check", "--kubeconfig", str(running.cluster.kubeconfig))
        assert done.returncode == 0, done.stderr
        assert "hello" in running.output("get", "greetings", "-o", "name")  # what was applied there stays


def test_mistakes_are_told_in_one_line(tmp_path: Path) -> None:
    for wrong, words in (
        (["--network", "tokenring"], "unknown network 'tokenring'"),
        (["--kubeconfig", str(tmp_path / "nowhere")], "nowhere"),
    ):
        done = dev(*wrong)
        assert done.returncode == 2
        assert words in done.stderr
        assert done.stderr.count("\n") == 1
