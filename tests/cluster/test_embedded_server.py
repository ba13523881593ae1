"""kubectl and the operator on the embedded API server."""

from __future__ import annotations

import asyncio
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
import uvloop

from seamark.families.sample.family import GREETING
from seamark_cluster.embedded import Store
from seamark_cluster.real.binaries import find
from seamark_cluster.real.users import MASTERS, User
from seamark_cluster.server.server import EmbeddedServer
from seamark_runtime.api.crd import manifests
from seamark_runtime.clock import SystemClock
from seamark_runtime.connection import connect
from seamark_runtime.http import HttpTransport
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from tests.greetings import greeting_controller

GREETINGS = """
apiVersion: sample.seamark.dev/v1alpha1
kind: Greeting
metadata: {name: hello, namespace: default}
spec: {text: Ahoy}
"""


class Running:
    """An embedded server, with an operator of the sample family if asked, on a loop in a thread of their own."""

    def __init__(self, directory: Path) -> None:
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.server = EmbeddedServer(Store(), [User("admin", (MASTERS,)), User("alice")], directory)
        self._tasks: list[asyncio.Task[None]] = []
        began = time.monotonic()
        asyncio.run_coroutine_threadsafe(self.server.start(), self._loop).result(10)
        self.start_seconds = time.monotonic() - began

    def kubectl(self, *arguments: str, stdin: str = "", user: str = "admin") -> subprocess.CompletedProcess[str]:
        command = [str(find().kubectl), "--kubeconfig", str(self.server.kubeconfig), "--context", user, *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)

    def output(self, *arguments: str, stdin: str = "") -> str:
        done = self.kubectl(*arguments, stdin=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def operate(self) -> None:
        async def start() -> None:
            transport = await HttpTransport(connect(str(self.server.kubeconfig))).open()
            world = World(transport, SystemClock(), Random(1), "test")
            settings = Settings(leader_election=False, health_address="")
            operator = Operator(world, [greeting_controller()], settings)
            self._tasks.append(asyncio.get_running_loop().create_task(self._run(operator, transport)))

        asyncio.run_coroutine_threadsafe(start(), self._loop).result(10)

    async def _run(self, operator: Operator, transport: HttpTransport) -> None:
        try:
            await operator.run()
        finally:
            await transport.close()

    def stop(self) -> None:
        async def end() -> None:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self.server.close()

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(20)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path)
    try:
        running.output("apply", "-f", "-", stdin=manifests([GREETING]))
        yield running
    finally:
        running.stop()


def test_the_server_is_up_within_a_second(tmp_path: Path) -> None:
    running = Running(tmp_path)
    running.stop()
    assert running.start_seconds < 1


def test_kubectl_applies_reads_changes_and_deletes(running: Running) -> None:
    assert "greeting.sample.seamark.dev/hello created" in running.output("apply", "-f", "-", stdin=GREETINGS)
    assert "unchanged" in running.output("apply", "-f", "-", stdin=GREETINGS)
    assert running.output("get", "greetings").split()[:5] == ["NAME", "TEXT", "PUBLISHED", "READY", "AGE"]
    assert "Waiting for the controller" in running.output("get", "gr", "-o", "wide")
    assert running.output("get", "gr", "hello", "-o", "jsonpath={.spec.text}") == "Ahoy"
    running.output("patch", "gr", "hello", "--type=merge", "-p", '{"spec":{"text":"Farewell"}}')
    assert "-  text: Farewell" in running.kubectl("diff", "-f", "-", stdin=GREETINGS).stdout
    assert "What to say" in running.output("explain", "greeting.spec")
    running.output("label", "gr", "hello", "a=b")
    assert running.output("get", "gr", "-l", "a=b", "-o", "name") == "greeting.sample.seamark.dev/hello\n"
    assert "deleted" in running.output("delete", "gr", "hello")


def test_built_in_kinds_are_explained(running: Running) -> None:
    assert "containers\t<[]Container> -required-" in running.output("explain", "pod.spec")
    assert "replicas <integer>" in running.output("explain", "deployment.spec.replicas")
    assert "does not exist" in running.kubectl("explain", "pod.spec.harbour").stderr


def test_bad_input_gets_the_words_that_kubectl_users_know(running: Running) -> None:
    assert "(NotFound)" in running.kubectl("get", "gr", "nobody").stderr
    assert "doesn't have a resource type" in running.kubectl("get", "harbours").stderr
    wrong = running.kubectl("apply", "-f", "-", stdin=GREETINGS.replace("Ahoy", "[]"))
    assert "spec.text" in wrong.stderr
    assert "unknown field" in running.kubectl("apply", "-f", "-", stdin=GREETINGS.replace("text", "txet")).stderr
    large = GREETINGS.replace("Ahoy", "A" * 5_000_000)
    assert "too large" in running.kubectl("create", "-f", "-", stdin=large).stderr.lower()


def test_a_user_without_rights_is_told_so(running: Running) -> None:
    refused = running.kubectl("get", "greetings", user="alice")
    assert '(Forbidden): greetings.sample.seamark.dev is forbidden: User "alice" cannot list' in refused.stderr


def test_the_operator_runs_on_it_unchanged(running: Running) -> None:
    running.operate()
    running.output("apply", "-f", "-", stdin=GREETINGS)
    running.output("wait", "gr/hello", "--for=condition=Ready", "--timeout=10s")
    assert running.output("get", "cm", "hello", "-o", "jsonpath={.data.text}") == "Ahoy"
    assert "hello   Ahoy   True        True" in running.output("get", "gr")
