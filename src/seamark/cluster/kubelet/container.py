"""One container's life: configured, started, probed, ended, and started again as its Pod's policy says."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from seamark.api.core import Container, Handler, Probe
from seamark.cluster.kubelet import probes
from seamark.cluster.kubelet.environment import NotConfigured
from seamark.cluster.kubelet.host import Surroundings
from seamark.cluster.kubelet.images import Image
from seamark.cluster.kubelet.runtime import Launch, Running
from seamark.cluster.kubelet.status import ContainerFacts, Ended, Runs, Waiting
from seamark.core.clock import timestamp

LONGEST_BACKOFF = 300.0
FORGIVEN_AFTER = 600.0  # a container that ran this long starts its backoff from the beginning
RECHECK = 5.0  # a missing ConfigMap wakes us when it comes; this is for what nobody tells


@dataclass
class Ending:
    """Says, to all who wait in a Pod, that it is ending or that something it waits for may have come."""

    ending: bool = False

    def __post_init__(self) -> None:
        self._changed = asyncio.Event()

    def poke(self) -> None:
        self._changed.set()

    def end(self) -> None:
        self.ending = True
        self._changed.set()

    async def wait(self, seconds: float) -> None:
        """A pause that ends early when there is a reason."""
        if self.ending:
            return
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return


class ContainerLife:
    """Runs one container until it need not run again, or until its Pod ends.

    - Everything it finds out is told as `ContainerFacts`, whole, at each change.
    - `stop` asks it to end (preStop, then SIGTERM), `kill` makes it; neither is followed by a restart.
    """

    def __init__(
        self,
        around: Surroundings,
        container: Container,
        ending: Ending,
        tell: Callable[[str, ContainerFacts], None],
        facts: ContainerFacts,
    ) -> None:
        self._around = around
        self._container = container
        self._ending = ending
        self._tell = tell
        self.facts = facts
        self.running: Running | None = None
        self._launch: Launch | None = None
        self._stopping: asyncio.Task[None] | None = None
        self.over = asyncio.Event()  # set while nothing of it runs, for those who follow its log

    async def run(self, policy: str) -> Ended | None:
        """Until it need not run again: then how it ended last. None when the Pod ended before it ever ran."""
        failures = 0
        while True:
            ended = await self._once()
            if ended is None or self._ending.ending or not again(policy, ended.exit_code):
                return ended
            if self._ran(ended) > FORGIVEN_AFTER:
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
        """How to start another command in the same surroundings; None while the container does not run."""
        if self._launch is None or self.running is None:
            return None
        return replace(self._launch, argv=command, stdin=stdin)

    async def open(self, launch: Launch) -> asyncio.subprocess.Process:
        return await self._around.host.runtime.open(launch)

    def give(self, data: bytes) -> None:
        """Input for its program; the last of it is empty. Nobody takes it from a container without `stdin`."""
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
        self.running = running = await self._around.host.runtime.start(launch)
        self._launch, self._stopping = launch, None
        began = self._now()
        uid, name = self._around.pod.uid, self._container.name
        identity = f"seamark://{uid}/{name}/{self.facts.restarts}"
        started = self._container.startup_probe is None or not self._around.host.runtime.processes
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
        """How to start it, as soon as all is there that it needs; meanwhile the status says what is missing."""
        host, container = self._around.host, self._container
        tries = 0
        while not self._ending.ending:
            image = host.images.find(container.image) if host.runtime.processes else Image()
            if image is None:
                self._no_image(tries)
            else:
                try:
                    launch = self._around.launch(container, image, self.facts.restarts)
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
        words = self._around.host.images.unknown(self._container.image)
        if tries == 0:
            self._wait("ErrImagePull", words)
        else:
            self._wait("ImagePullBackOff", f'Back-off pulling image "{self._container.image}": {words}')

    def _wait(self, reason: str, words: str) -> None:
        state = Waiting(reason, words)
        if self.facts.state != state:
            self._around.host.warn(self._around.pod, "Failed", words)
        self._note(replace(self.facts, state=state, ready=False, started=False))

    async def _back_off(self, ended: Ended, failures: int) -> None:
        pause = min(LONGEST_BACKOFF, self._around.host.backoff * 2 ** (failures - 1))
        pod = self._around.pod
        words = f"back-off {pause:g}s restarting failed container={self._container.name} pod={pod.metadata.name}"
        self._around.host.warn(pod, "BackOff", f"Back-off restarting failed container {self._container.name}")
        self._note(replace(self.facts, state=Waiting("CrashLoopBackOff", words), last=ended))
        loop = asyncio.get_running_loop()
        until = loop.time() + pause
        while (left := until - loop.time()) > 0 and not self._ending.ending:
            await self._ending.wait(left)

    # ---- probes

    def _probed(self) -> bool:
        return self._container.readiness_probe is not None and self._around.host.runtime.processes

    async def _watch(self) -> None:
        if not self._around.host.runtime.processes:
            return
        one = self._container
        if one.startup_probe is not None:
            await self._passed(one.startup_probe)
        if one.startup_probe is not None:
            self._note(replace(self.facts, started=True, ready=not self._probed()))
        async with asyncio.TaskGroup() as group:
            if one.readiness_probe is not None:
                group.create_task(self._follow(one.readiness_probe, self._readiness, eager=True))
            if one.liveness_probe is not None:
                group.create_task(self._follow(one.liveness_probe, self._liveness, eager=False))

    async def _passed(self, probe: Probe) -> None:
        """Returns when a startup probe has succeeded; a failed one ends the container, and this never returns."""
        passed = asyncio.Event()

        def tell(well: bool, words: str) -> None:
            if well:
                passed.set()
            else:
                self._unwell("Startup", words)
                self.stop()

        following = asyncio.get_running_loop().create_task(self._follow(probe, tell, eager=True))
        try:
            await passed.wait()
        finally:
            following.cancel()

    async def _follow(self, probe: Probe, tell: Callable[[bool, str], None], *, eager: bool) -> None:
        ask = probes.question(self._container, probe, self._around.place.address, self._execute)
        await probes.follow(probe, ask, tell, eager=eager)

    def _readiness(self, well: bool, words: str) -> None:
        if not well:
            self._unwell("Readiness", words)
        self._note(replace(self.facts, ready=well))

    def _liveness(self, well: bool, words: str) -> None:
        if not well:
            self._unwell("Liveness", words)
            self.stop()
            grace = self._around.pod.spec.termination_grace_period_seconds
            asyncio.get_running_loop().call_later(30 if grace is None else grace, self._kill_run, self.running)

    def _kill_run(self, run: Running | None) -> None:
        if run is not None and run is self.running:
            run.signal(signal.SIGKILL)

    def _unwell(self, which: str, words: str) -> None:
        self._around.host.warn(self._around.pod, "Unhealthy", f"{which} probe failed: {words}")

    async def _execute(self, command: tuple[str, ...], timeout: float) -> tuple[int, str]:
        launch = self.beside(command)
        if launch is None:
            return 1, "the container does not run"
        return await self._around.host.runtime.execute(launch, timeout)

    # ---- the end

    async def _stop(self) -> None:
        running = self.running
        lifecycle = self._container.lifecycle
        if lifecycle is not None and lifecycle.pre_stop is not None:
            await self._pre_stop(lifecycle.pre_stop)
        if running is not None:
            running.signal(signal.SIGTERM)

    async def _pre_stop(self, handler: Handler) -> None:
        grace = self._around.pod.spec.termination_grace_period_seconds
        most = 30.0 if grace is None else float(grace)
        well, words = True, ""
        if handler.exec is not None:
            code, words = await self._execute(handler.exec.command or (), most)
            well = code == 0
        elif handler.http_get is not None:
            well, words = await probes.http(self._container, handler.http_get, self._around.place.address, most)
        elif handler.sleep is not None:
            await asyncio.sleep(min(most, handler.sleep.seconds))
        if not well:
            self._around.host.warn(self._around.pod, "FailedPreStopHook", f"PreStopHook failed: {words}")

    def _note(self, facts: ContainerFacts) -> None:
        if facts != self.facts:
            self.facts = facts
            self._tell(self._container.name, facts)

    def _now(self) -> str:
        return timestamp(self._around.host.clock.wall())

    def _ran(self, ended: Ended) -> float:
        return (datetime.fromisoformat(ended.finished_at) - datetime.fromisoformat(ended.started_at)).total_seconds()


def again(policy: str, exit_code: int) -> bool:
    """Whether a container that ended so is started again."""
    return policy == "Always" or (policy == "OnFailure" and exit_code != 0)
