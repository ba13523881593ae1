"""One container: configured, started, probed, ended, and restarted by its Pod's restart policy."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from seamark_cluster.kubelet import probes
from seamark_cluster.kubelet.environment import NotConfigured
from seamark_cluster.kubelet.host import PodContext
from seamark_cluster.kubelet.images import Image
from seamark_cluster.kubelet.runtime import Launch, Running
from seamark_cluster.kubelet.status import ContainerFacts, Ended, Runs, Waiting
from seamark_runtime.api.core import Container, Handler, Probe
from seamark_runtime.clock import timestamp

LONGEST_BACKOFF = 300.0
BACKOFF_RESET_AFTER = 600.0  # seconds of running after which the backoff is reset
RECHECK = 5.0  # a missing ConfigMap requeues when it appears; this interval is for anything without an event


@dataclass
class Ending:
    """Wakes all tasks of a Pod that wait: it is terminating, or something they wait for may be there."""

    ending: bool = False

    def __post_init__(self) -> None:
        self._changed = asyncio.Event()

    def poke(self) -> None:
        self._changed.set()

    def end(self) -> None:
        self.ending = True
        self._changed.set()

    async def wait(self, seconds: float) -> None:
        """A pause that ends early when the Pod terminates."""
        if self.ending:
            return
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return


class ContainerWorker:
    """Runs one container until it need not run again, or until its Pod ends.

    - Every change is reported as complete `ContainerFacts`.
    - `stop` asks it to end (preStop, then SIGTERM), `kill` forces it; neither is followed by a restart.
    """

    def __init__(
        self,
        context: PodContext,
        container: Container,
        ending: Ending,
        report: Callable[[str, ContainerFacts], None],
        facts: ContainerFacts,
    ) -> None:
        self._context = context
        self._container = container
        self._ending = ending
        self._report = report
        self.facts = facts
        self.running: Running | None = None
        self._launch: Launch | None = None
        self._stopping: asyncio.Task[None] | None = None
        self.over = asyncio.Event()  # set while it does not run, for followers of its log

    async def run(self, policy: str) -> Ended | None:
        """Runs until no restart is due, and returns how it ended last. None when the Pod ended before it ever ran."""
        failures = 0
        while True:
            ended = await self._once()
            if ended is None or self._ending.ending or not restarted(policy, ended.exit_code):
                return ended
            if self._ran(ended) > BACKOFF_RESET_AFTER:
                failures = 0
            if failures:
                await self._back_off(ended, failures)
                if self._ending.ending:
                    return ended
            failures += 1
            self._note(replace(self.facts, restarts=self.facts.restarts + 1, last=ended))

    def stop(self) -> None:
        if self.running is not None and self._stopping is None:
            self._stopping = asyncio.get_running_loop().create_task(self._stop())

    def beside(self, command: Sequence[str], *, stdin: bool = False) -> Launch | None:
        """How to start another command in the same environment; None while the container does not run."""
        if self._launch is None or self.running is None:
            return None
        return replace(self._launch, argv=command, stdin=stdin)

    async def open(self, launch: Launch) -> asyncio.subprocess.Process:
        return await self._context.host.runtime.open(launch)

    def give(self, data: bytes) -> None:
        """Input for its program; an empty piece is its end. It is dropped for a container without `stdin`."""
        way = None if self.running is None else self.running.input
        if way is None:
            return
        if data:
            way.write(data)
        elif self._container.stdin_once:
            way.close()

    def kill(self) -> None:
        if self.running is not None:
            self.running.signal(signal.SIGKILL)

    # ---- one run

    async def _once(self) -> Ended | None:
        launch = await self._configured()
        if launch is None:
            return None
        self.over.clear()
        self.running = running = await self._context.host.runtime.start(launch)
        self._launch, self._stopping = launch, None
        began = self._now()
        uid, name = self._context.pod.uid, self._container.name
        identity = f"seamark://{uid}/{name}/{self.facts.restarts}"
        started = self._container.startup_probe is None or not self._context.host.runtime.processes
        facts = replace(self.facts, state=Runs(began), id=identity, started=started)
        self._note(replace(facts, ready=started and not self._probed()))
        if self._ending.ending:
            self.stop()
        watching = asyncio.get_running_loop().create_task(self._watch())
        try:
            code = await asyncio.shield(running.exited)
        finally:
            watching.cancel()
            self.running = None
            self.over.set()
        ended = Ended(code, began, self._now(), identity)
        self._note(replace(self.facts, state=ended, ready=False, started=False))
        return ended

    async def _configured(self) -> Launch | None:
        """How to start it, as soon as all its references exist; meanwhile the status shows what is missing."""
        host, container = self._context.host, self._container
        tries = 0
        while not self._ending.ending:
            image = host.images.find(container.image) if host.runtime.processes else Image()
            if image is None:
                self._no_image(tries)
            else:
                try:
                    launch = self._context.launch(container, image, self.facts.restarts)
                except NotConfigured as error:
                    self._wait("CreateContainerConfigError", error.message)
                else:
                    if launch.argv or not host.runtime.processes:
                        self._note(replace(self.facts, image=f"seamark://{container.image}"))
                        return launch
                    self._wait("CreateContainerError", "no command: neither the Pod nor the table of images has one")
            await self._ending.wait(RECHECK if image is not None else host.backoff)
            tries += 1
        return None

    def _no_image(self, tries: int) -> None:
        message = self._context.host.images.unknown(self._container.image)
        if tries == 0:
            self._wait("ErrImagePull", message)
        else:
            self._wait("ImagePullBackOff", f'Back-off pulling image "{self._container.image}": {message}')

    def _wait(self, reason: str, message: str) -> None:
        state = Waiting(reason, message)
        if self.facts.state != state:
            self._context.host.warn(self._context.pod, "Failed", message)
        self._note(replace(self.facts, state=state, ready=False, started=False))

    async def _back_off(self, ended: Ended, failures: int) -> None:
        pause = min(LONGEST_BACKOFF, self._context.host.backoff * 2 ** (failures - 1))
        pod = self._context.pod
        message = f"back-off {pause:g}s restarting failed container={self._container.name} pod={pod.metadata.name}"
        self._context.host.warn(pod, "BackOff", f"Back-off restarting failed container {self._container.name}")
        self._note(replace(self.facts, state=Waiting("CrashLoopBackOff", message), last=ended))
        loop = asyncio.get_running_loop()
        until = loop.time() + pause
        while (left := until - loop.time()) > 0 and not self._ending.ending:
            await self._ending.wait(left)

    # ---- probes

    def _probed(self) -> bool:
        return self._container.readiness_probe is not None and self._context.host.runtime.processes

    async def _watch(self) -> None:
        if not self._context.host.runtime.processes:
            return
        container = self._container
        if container.startup_probe is not None:
            await self._passed(container.startup_probe)
        if container.startup_probe is not None:
            self._note(replace(self.facts, started=True, ready=not self._probed()))
        async with asyncio.TaskGroup() as group:
            if container.readiness_probe is not None:
                group.create_task(self._follow(container.readiness_probe, self._readiness, eager=True))
            if container.liveness_probe is not None:
                group.create_task(self._follow(container.liveness_probe, self._liveness, eager=False))

    async def _passed(self, probe: Probe) -> None:
        """Returns when the startup probe has succeeded; a failed one ends the container, and this never returns."""
        passed = asyncio.Event()

        def report(healthy: bool, message: str) -> None:
            if healthy:
                passed.set()
            else:
                self._warn_unhealthy("Startup", message)
                self.stop()

        following = asyncio.get_running_loop().create_task(self._follow(probe, report, eager=True))
        try:
            await passed.wait()
        finally:
            following.cancel()

    async def _follow(self, probe: Probe, report: Callable[[bool, str], None], *, eager: bool) -> None:
        attempt = probes.attempt_for(self._container, probe, self._context.place.address, self._execute)
        await probes.follow(probe, attempt, report, eager=eager)

    def _readiness(self, healthy: bool, message: str) -> None:
        if not healthy:
            self._warn_unhealthy("Readiness", message)
        self._note(replace(self.facts, ready=healthy))

    def _liveness(self, healthy: bool, message: str) -> None:
        if not healthy:
            self._warn_unhealthy("Liveness", message)
            self.stop()
            grace = self._context.pod.spec.termination_grace_period_seconds
            asyncio.get_running_loop().call_later(30 if grace is None else grace, self._kill_run, self.running)

    def _kill_run(self, run: Running | None) -> None:
        if run is not None and run is self.running:
            run.signal(signal.SIGKILL)

    def _warn_unhealthy(self, which: str, message: str) -> None:
        self._context.host.warn(self._context.pod, "Unhealthy", f"{which} probe failed: {message}")

    async def _execute(self, command: tuple[str, ...], timeout: float) -> tuple[int, str]:
        launch = self.beside(command)
        if launch is None:
            return 1, "the container does not run"
        return await self._context.host.runtime.execute(launch, timeout)

    # ---- termination

    async def _stop(self) -> None:
        running = self.running
        lifecycle = self._container.lifecycle
        if lifecycle is not None and lifecycle.pre_stop is not None:
            await self._pre_stop(lifecycle.pre_stop)
        if running is not None:
            running.signal(signal.SIGTERM)

    async def _pre_stop(self, handler: Handler) -> None:
        grace = self._context.pod.spec.termination_grace_period_seconds
        most = 30.0 if grace is None else float(grace)
        healthy, message = True, ""
        if handler.exec is not None:
            code, message = await self._execute(handler.exec.command or (), most)
            healthy = code == 0
        elif handler.http_get is not None:
            healthy, message = await probes.http(self._container, handler.http_get, self._context.place.address, most)
        elif handler.sleep is not None:
            await asyncio.sleep(min(most, handler.sleep.seconds))
        if not healthy:
            self._context.host.warn(self._context.pod, "FailedPreStopHook", f"PreStopHook failed: {message}")

    def _note(self, facts: ContainerFacts) -> None:
        if facts != self.facts:
            self.facts = facts
            self._report(self._container.name, facts)

    def _now(self) -> str:
        return timestamp(self._context.host.clock.wall())

    def _ran(self, ended: Ended) -> float:
        return (datetime.fromisoformat(ended.finished_at) - datetime.fromisoformat(ended.started_at)).total_seconds()


def restarted(policy: str, exit_code: int) -> bool:
    """Whether a container with this exit code is restarted."""
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)
