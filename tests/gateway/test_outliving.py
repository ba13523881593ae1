"""Local Envoys that outlive their operator: they serve on, and the next one adopts them."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from random import Random

import aiohttp
import msgspec
import pytest

from seamark.families.gateway.family import TRAFFIC_POLICY, controllers
from seamark.families.gateway.model.options import Options
from seamark_cluster.embedded import EmbeddedTransport, Store
from seamark_edge.dataplane.envoy import binary
from seamark_edge.dataplane.envoy.local import LocalEnvoys
from seamark_edge.dataplane.envoy.state import Files, Record, StateDirectory
from seamark_edge.dataplane.protocol import Served
from seamark_runtime.api.crd import CRD
from seamark_runtime.api.gateway import Gateway
from seamark_runtime.api.meta import Key
from seamark_runtime.clock import SystemClock
from seamark_runtime.errors import Retry
from seamark_runtime.operator import Operator, World
from seamark_runtime.settings import Settings
from tests.gateway.test_envoy import GATEWAY, Scene, backend, text
from tests.gateway.whole import PATIENCE, Whole, prepare
from tests.simulation.gateway import KINDS

COMMAND = "from seamark.cli.main import main; main()"
KILLED = """
import asyncio, sys
from pathlib import Path
from seamark_edge.dataplane.envoy import binary
from seamark_edge.dataplane.protocol import Served
from tests.gateway.test_envoy import GATEWAY, Scene
from seamark_edge.dataplane.envoy.local import LocalEnvoys

async def main():
    plane = LocalEnvoys(binary.install(), Path(sys.argv[1]))
    running = asyncio.ensure_future(plane.run())
    scene = Scene(plane, sys.argv[2], {"one": int(sys.argv[3])})
    assert await scene.program(scene.snapshot(("/", "one"))) == Served(1)
    print("served", flush=True)
    await running

asyncio.run(main())
"""


def stop(state: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SEAMARK_GATEWAY_STATE": str(state)}
    command = [sys.executable, "-c", COMMAND, "gateway", "stop"]
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment)


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "state"
    yield path
    stop(path)


def running(state: Path) -> list[int]:
    """The processes of Envoy that belong to this directory."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.fsencode(f"{state}/") in (entry / "cmdline").read_bytes() and entry.name != str(os.getpid()):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def some_address() -> str:
    return f"127.0.{random.randint(100, 250)}.{random.randint(1, 250)}"


@asynccontextmanager
async def operating(state: Path) -> AsyncIterator[LocalEnvoys]:
    plane = LocalEnvoys(binary.install(), state)
    work = asyncio.ensure_future(plane.run())
    try:
        yield plane
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


@asynccontextmanager
async def client(address: str) -> AsyncIterator[dict[str, int]]:
    """A connection for every request."""
    answers: dict[str, int] = {}

    async def work() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
            while True:
                try:
                    what = str((await text(session, f"http://{address}:8080/"))[0])
                except aiohttp.ClientError as error:
                    what = type(error).__name__
                answers[what] = answers.get(what, 0) + 1
                await asyncio.sleep(0.01)

    task = asyncio.ensure_future(work())
    try:
        yield answers
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until(condition: Callable[[], bool], what: str) -> None:
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, what
        await asyncio.sleep(0.05)


def test_the_next_operator_adopts_the_envoys_of_the_last_and_no_client_is_refused(state: Path) -> None:
    address = some_address()

    async def story() -> None:
        async with backend("one") as one, backend("two") as two:
            async with operating(state) as plane:
                scene = Scene(plane, address, {"one": one, "two": two})
                assert await scene.program(scene.snapshot(("/", "one"))) == Served(1)
            before = running(state)
            assert len(before) == 1
            async with client(address) as answers:
                await asyncio.sleep(3)
                began = asyncio.get_running_loop().time()
                async with operating(state) as plane:
                    scene.plane = plane
                    assert await scene.program(scene.snapshot(("/", "two"))) == Served(1)
                    assert asyncio.get_running_loop().time() - began < 5
                    async with aiohttp.ClientSession() as session:
                        assert await text(session, scene.url("/")) == (200, "two")
            assert set(answers) == {"200"}, answers
            assert running(state) == before
            async with operating(state) as plane:
                await plane.retain(lambda _: True)
                assert running(state) == before
                await plane.retain(lambda gateway: gateway != GATEWAY)
                assert running(state) == []
                assert not list(state.glob("*.record"))

    asyncio.run(story())


def test_an_operator_that_is_killed_leaves_envoys_that_the_next_one_adopts_and_restarts_when_they_end(
    state: Path,
) -> None:
    address = some_address()

    async def story() -> None:
        async with backend("one") as one, AsyncExitStack() as stack:
            command = (sys.executable, "-c", KILLED, str(state), address, str(one))
            killed = await stack.enter_async_context(process(command))
            assert killed.stdout is not None  # with its log
            while (line := await killed.stdout.readline()) != b"served\n":
                assert line, "it has ended"
            [before] = [pid for pid in running(state) if pid != killed.pid]
            refused = stop(state)
            assert refused.returncode != 0
            assert "an operator runs the Envoys" in refused.stderr
            async with client(address) as answers:
                killed.send_signal(signal.SIGKILL)
                await killed.wait()
                await asyncio.sleep(1)
                async with operating(state) as plane:
                    scene = Scene(plane, address, {"one": one})
                    assert await scene.program(scene.snapshot(("/", "one"))) == Served(1)
                    assert running(state) == [before]
            assert set(answers) == {"200"}, answers
            async with operating(state) as plane:
                await scene_again(plane, scene)
                os.kill(before, signal.SIGKILL)
                await until(lambda: running(state) not in ([], [before]), "it is started again")
                await scene_again(plane, scene)
        assert "1 ended" in stop(state).stdout
        assert running(state) == []

    asyncio.run(story())


@asynccontextmanager
async def process(command: tuple[str, ...]) -> AsyncIterator[asyncio.subprocess.Process]:
    made = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        yield made
    finally:
        if made.returncode is None:
            made.kill()
        await made.wait()


async def scene_again(plane: LocalEnvoys, scene: Scene) -> None:
    scene.plane = plane
    assert await scene.program(scene.snapshot(("/", "one"))) == Served(1)


@pytest.mark.parametrize("damage", ["another program", "unreadable"])
def test_an_envoy_that_was_started_otherwise_is_ended_and_started_anew(state: Path, damage: str) -> None:
    async def story() -> None:
        async with backend("one") as one:
            async with operating(state) as plane:
                scene = Scene(plane, some_address(), {"one": one})
                assert await scene.program(scene.snapshot(("/", "one"))) == Served(1)
            [before] = running(state)
            file = Files.of(state, GATEWAY).record
            record = msgspec.json.decode(file.read_bytes(), type=Record)
            assert record.sockets == ((scene.address, 8080),)
            changed = msgspec.json.encode(replace_identity(record)) if damage != "unreadable" else b"{"
            file.write_bytes(changed)
            async with operating(state) as plane:
                await scene_again(plane, scene)
                [after] = running(state)
                assert after != before

    asyncio.run(story())


def test_a_second_operator_waits_for_the_first_and_takes_its_envoys_over(state: Path) -> None:
    async def story() -> None:
        async with backend("one") as one, AsyncExitStack() as first:
            plane = await first.enter_async_context(operating(state))
            scene = Scene(plane, some_address(), {"one": one})
            assert await scene.program(scene.snapshot(("/", "one"))) == Served(1)
            before = running(state)
            async with operating(state) as second:
                await asyncio.sleep(1)
                with pytest.raises(Retry, match="another process runs the Envoys"):
                    await second.program(GATEWAY, scene.snapshot(("/", "one")))
                await first.aclose()
                await scene_again(second, scene)
                assert running(state) == before

    asyncio.run(story())


def replace_identity(record: Record) -> Record:
    return msgspec.structs.replace(record, identity="other")


def test_a_directory_has_one_owner_and_is_closed_to_other_users(state: Path) -> None:
    first, second = StateDirectory(state), StateDirectory(state)
    assert first.acquire()
    assert not second.acquire()
    first.release()
    assert second.acquire()
    second.release()
    state.chmod(0o755)
    assert "chmod 700" in stop(state).stderr


def test_a_process_that_only_has_the_pid_of_an_earlier_one_is_left_alone(state: Path) -> None:
    directory = StateDirectory(state)
    assert directory.acquire()
    files = Files.of(state, Key("default", "web"))
    files.write_record(Record("default", "web", "any"))
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", str(state)])
    try:
        assert files.process() is None
        directory.release()
        assert "0 ended" in stop(state).stdout
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_gateway_that_is_deleted_while_no_operator_runs_is_not_served_by_the_next(state: Path) -> None:
    async def story() -> None:
        store = Store(clock=SystemClock(), chance=Random(1))
        for kind in KINDS:
            store.create(CRD(kind=kind).manifest())
        store.create(TRAFFIC_POLICY.manifest())
        async with backend("web") as port:
            scene = Whole(store, port)
            options = Options(addresses=(f"127.0.{random.randint(100, 250)}.0/24",), counting=0.1)
            async with whole_operator(store, options, state):
                prepare(scene, {"name": "http", "port": 8080, "protocol": "HTTP"})
                await scene.served()
                scene.route("hello")
                await scene.answers_so("/", 200)
            before = running(state)
            async with client(scene.address) as answers:
                async with whole_operator(store, options, state):
                    scene.route("later", matches=[{"path": {"value": "/later"}}])
                    await scene.answers_so("/later", 200)
                await asyncio.sleep(0.5)
            assert set(answers) == {"200"}, answers
            assert running(state) == before
            store.delete(str(Gateway.RESOURCE), "default", "gateway")
            async with whole_operator(store, options, state):
                await until(lambda: running(state) == [], "its Envoy is ended")

    asyncio.run(story())


@asynccontextmanager
async def whole_operator(store: Store, options: Options, state: Path) -> AsyncIterator[None]:
    declared = controllers(options, LocalEnvoys(binary.install(), state))
    settings = Settings(leader_election=False, health_address="", stop_grace=0, single_reads=1)
    operator = Operator(World(EmbeddedTransport(store), SystemClock(), Random(1)), declared, settings)
    work = asyncio.ensure_future(operator.run())
    try:
        yield
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
