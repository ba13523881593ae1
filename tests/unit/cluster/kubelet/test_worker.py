"""A Pod's worker, with containers that end on command, in virtual time."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from seamark_cluster.kubelet.host import Host
from seamark_cluster.kubelet.images import Image, Images
from seamark_cluster.kubelet.runtime import Launch
from seamark_cluster.kubelet.status import Ended, Runs, Waiting
from seamark_cluster.kubelet.worker import PodWorker
from seamark_cluster.network.pods import StubNetwork
from seamark_runtime.api.core import Pod, TokenFile
from seamark_runtime.api.meta import Key
from tests.unit.cluster.kubelet.pods import Known, pod
from tests.virtual_time import CLOCK, run


class Container:
    """A container that ends when the test ends it; `deaf` ones ignore SIGTERM."""

    def __init__(self, launch: Launch, *, deaf: bool) -> None:
        self.pid = 1
        self.launch = launch
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.input: asyncio.WriteTransport | None = None
        self.signals: list[int] = []
        self._deaf = deaf

    def signal(self, number: int) -> None:
        self.signals.append(number)
        if not self.exited.done() and not (self._deaf and number == signal.SIGTERM):
            self.exited.set_result(-number)

    def end(self, code: int) -> None:
        self.exited.set_result(code)


class Scripted:
    """A runtime that records what it started."""

    processes = True

    def __init__(self, *, deaf: bool = False) -> None:
        self.started: list[Container] = []
        self._deaf = deaf

    async def start(self, launch: Launch) -> Container:
        self.started.append(Container(launch, deaf=self._deaf))
        return self.started[-1]

    async def execute(self, launch: Launch, timeout: float) -> tuple[int, str]:
        return 0, ""

    async def open(self, launch: Launch) -> asyncio.subprocess.Process:
        raise AssertionError("not used in these tests")


class World:
    def __init__(self, directory: Path, *, deaf: bool = False) -> None:
        self.runtime = Scripted(deaf=deaf)
        self.network = StubNetwork("10.244.0.1", "10.244.0.0/24")
        self.known = Known({}, {})
        self.warnings: list[tuple[str, str]] = []
        self.host = Host(
            name="node-1",
            network=self.network,
            runtime=self.runtime,
            images=Images({"shop/*": Image(command=("/bin/program",))}),
            directory=directory,
            clock=CLOCK,
            lookup=lambda _namespace: self.known,
            token=self._token,
            claimed=self._claimed,
            warn=lambda _pod, reason, message: self.warnings.append((reason, message)),
        )

    async def _claimed(self, claim: Key) -> Path:
        return self.host.directory / "claims" / claim.name

    async def _token(self, _pod: Pod, _wanted: TokenFile) -> bytes:
        return b"token"

    def run(self, pod: Pod) -> PodWorker:
        return PodWorker(self.host, pod, lambda: None)


async def settle(seconds: float = 0.001) -> None:
    await asyncio.sleep(seconds)


def lived(directory: Path, program: Callable[[World], Coroutine[Any, Any, None]], *, deaf: bool = False) -> None:
    async def whole() -> None:
        await program(World(directory, deaf=deaf))

    run(whole())


def test_a_container_that_runs_is_ready_at_its_address(tmp_path: Path) -> None:
    async def program(world: World) -> None:
        worker = world.run(pod())
        await settle()
        facts = worker.facts
        assert (facts.address, facts.initialized) == ("10.244.0.2", True)
        assert isinstance(facts.containers["web"].state, Runs)
        assert worker.ready
        assert world.runtime.started[0].launch.argv == ["/bin/program"]

    lived(tmp_path, program)


def test_a_new_kubelet_counts_a_restart_of_what_ran_and_none_of_what_never_did(tmp_path: Path) -> None:
    def known(state: dict[str, Any]) -> dict[str, Any]:
        return {"containerStatuses": [{"name": "web", "restartCount": 2, "state": state}]}

    async def program(world: World) -> None:
        ran = world.run(pod(status=known({"running": {}})))
        waited = world.run(pod(status=known({"waiting": {"reason": "ErrImagePull"}}), name="web-2", uid="u-2"))
        await settle()
        assert (ran.facts.containers["web"].restarts, waited.facts.containers["web"].restarts) == (3, 2)

    lived(tmp_path, program)


def test_the_first_restart_is_at_once_and_the_next_ones_wait_longer_and_longer(tmp_path: Path) -> None:
    async def program(world: World) -> None:
        worker, loop, starts = world.run(pod()), asyncio.get_running_loop(), []
        for _ in range(4):
            while not world.runtime.started or world.runtime.started[-1].exited.done():
                await settle(0.5)
            starts.append(loop.time())
            world.runtime.started[-1].end(1)
            await settle()
        gaps = [round(after - before) for before, after in pairwise(starts)]
        assert gaps == [0, 10, 20]
        facts = worker.facts.containers["web"]
        assert facts.restarts == 3
        assert isinstance(facts.state, Waiting)
        assert (facts.state.reason, facts.ready) == ("CrashLoopBackOff", False)
        assert isinstance(facts.last, Ended)

    lived(tmp_path, program)


def test_a_pod_that_need_not_run_again_is_finished_and_gives_its_address_back(tmp_path: Path) -> None:
    async def program(world: World) -> None:
        worker = world.run(pod({"restartPolicy": "OnFailure"}))
        await settle()
        world.runtime.started[0].end(0)
        await worker.ended()
        assert worker.facts.finished
        assert world.network._addresses._held == set()

    lived(tmp_path, program)


def test_init_containers_run_one_after_the_other_before_the_others(tmp_path: Path) -> None:
    async def program(world: World) -> None:
        init = [{"name": "a", "image": "shop/a"}, {"name": "b", "image": "shop/b"}]
        worker = world.run(pod({"initContainers": init}))
        await settle()
        assert worker.facts.containers["web"].state == Waiting("PodInitializing")
        world.runtime.started[0].end(1)  # restarted, as the Pod's policy is Always
        await settle()
        world.runtime.started[1].end(0)
        await settle()
        assert not worker.facts.initialized
        world.runtime.started[2].end(0)
        await settle()
        assert worker.facts.initialized
        assert worker.ready

    lived(tmp_path, program)


def test_an_unknown_image_is_reported_and_nothing_runs(tmp_path: Path) -> None:
    async def program(world: World) -> None:
        worker = world.run(pod({"containers": [{"name": "web", "image": "nginx"}]}))
        await settle()
        state = worker.facts.containers["web"].state
        assert isinstance(state, Waiting)
        assert state.reason == "ErrImagePull"
        assert "not in this node's table of images" in state.message
        await settle(15)
        state = worker.facts.containers["web"].state
        assert isinstance(state, Waiting)
        assert state.reason == "ImagePullBackOff"
        worker.terminate(30)
        await worker.ended()
        assert not world.runtime.started

    lived(tmp_path, program)


def test_a_missing_config_map_is_reported_and_waited_for(tmp_path: Path) -> None:
    async def program(world: World) -> None:
        source = {"configMapKeyRef": {"name": "settings", "key": "mode"}}
        container = {"name": "web", "image": "shop/web", "env": [{"name": "MODE", "valueFrom": source}]}
        worker = world.run(pod({"containers": [container]}))
        await settle()
        assert worker.facts.containers["web"].state == Waiting(
            "CreateContainerConfigError", 'configmap "settings" not found'
        )
        world.known = Known({"settings": {"mode": "fast"}}, {})
        worker.refresh()
        await settle()
        assert worker.ready
        assert world.runtime.started[0].launch.env["MODE"] == "fast"

    lived(tmp_path, program)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"volumeMounts": [{"name": "v", "mountPath": "/../../.."}]}, "must be absolute, without"),
        ({"volumeMounts": [{"name": "v", "mountPath": "/"}]}, "must be absolute, without"),
        ({"volumeMounts": [{"name": "v", "mountPath": "etc"}]}, "must be absolute, without"),
        ({"volumeMounts": [{"name": "v", "mountPath": "/a\x00b"}]}, "must be absolute, without"),
        ({"env": [{"name": "A", "value": "a\x00b"}]}, "a NUL character"),
        ({"args": ["a\x00b"]}, "a NUL character"),
    ],
)
def test_a_container_that_would_leave_its_root_or_has_nul_is_not_started(
    tmp_path: Path, more: dict[str, Any], message: str
) -> None:
    async def program(world: World) -> None:
        container = {"name": "web", "image": "shop/web", **more}
        worker = world.run(pod({"containers": [container], "volumes": [{"name": "v", "emptyDir": {}}]}))
        await settle()
        state = worker.facts.containers["web"].state
        assert isinstance(state, Waiting)
        assert state.reason == "CreateContainerConfigError"
        assert message in state.message
        assert not world.runtime.started

    lived(tmp_path, program)


@pytest.mark.parametrize("sub_path", ["../../../../outside", "OUTSIDE", "a/../../x"])
def test_a_sub_path_never_leaves_its_volume(tmp_path: Path, sub_path: str) -> None:
    outside = tmp_path / "outside"

    async def program(world: World) -> None:
        path = sub_path.replace("OUTSIDE", str(outside))
        mount = {"name": "v", "mountPath": "/data", "subPath": path}
        container = {"name": "web", "image": "shop/web", "volumeMounts": [mount]}
        world.run(pod({"containers": [container], "volumes": [{"name": "v", "emptyDir": {}}]}))
        await settle()
        assert not world.runtime.started
        assert [reason for reason, _ in world.warnings] == ["FailedMount"]
        assert not outside.exists()
        assert not (tmp_path.parent / "outside").exists()

    lived(tmp_path / "kubelet", program)


def test_files_follow_their_config_map(tmp_path: Path) -> None:
    async def program(world: World) -> None:
        world.known = Known({"settings": {"mode": "fast"}}, {})
        worker = world.run(pod({"volumes": [{"name": "v", "configMap": {"name": "settings"}}]}))
        await settle()
        file = worker.directory / "volumes/v/mode"
        assert file.read_text() == "fast"
        world.known = Known({"settings": {"mode": "slow"}}, {})
        worker.refresh()
        await settle()
        assert file.read_text() == "slow"
        worker.remove()
        assert not worker.directory.exists()

    lived(tmp_path, program)


def test_a_requested_stop_is_not_followed_by_a_restart(tmp_path: Path) -> None:
    async def program(world: World) -> None:
        worker = world.run(pod())
        await settle()
        worker.terminate(30)
        await worker.ended()
        assert world.runtime.started[0].signals == [signal.SIGTERM]
        assert len(world.runtime.started) == 1

    lived(tmp_path, program)


def test_a_container_that_ignores_sigterm_is_killed_after_the_grace_period(tmp_path: Path) -> None:
    async def program(world: World) -> None:
        worker = world.run(pod())
        await settle()
        began = asyncio.get_running_loop().time()
        worker.terminate(30)
        await settle(1)
        worker.terminate(5)  # a second, shorter period counts
        await worker.ended()
        assert round(asyncio.get_running_loop().time() - began) == 6
        assert world.runtime.started[0].signals == [signal.SIGTERM, signal.SIGKILL]

    lived(tmp_path, program, deaf=True)


def test_a_readiness_probe_decides_and_a_liveness_probe_restarts(tmp_path: Path) -> None:
    async def program(world: World) -> None:
        answers = {"ready": 1, "alive": 0}

        async def execute(launch: Launch, timeout: float) -> tuple[int, str]:
            return answers[launch.argv[0]], "failed here"

        world.runtime.execute = execute  # type: ignore[method-assign]
        probes = {
            "readinessProbe": {"exec": {"command": ["ready"]}, "periodSeconds": 1},
            "livenessProbe": {"exec": {"command": ["alive"]}, "periodSeconds": 1, "failureThreshold": 3},
        }
        worker = world.run(pod({"containers": [{"name": "web", "image": "shop/web", **probes}]}))
        await settle(0.5)
        assert not worker.ready
        answers["ready"] = 0
        await settle(2)
        assert worker.ready
        answers["alive"] = 1
        await settle(5)
        assert worker.facts.containers["web"].restarts == 1
        assert ("Unhealthy", "Liveness probe failed: failed here") in world.warnings

    lived(tmp_path, program)
