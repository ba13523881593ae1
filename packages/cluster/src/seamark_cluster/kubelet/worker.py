"""One Pod on this node, from its address to its termination."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import structlog

from seamark_cluster.kubelet import volumes
from seamark_cluster.kubelet.container import RECHECK, ContainerWorker, Ending
from seamark_cluster.kubelet.environment import NotConfigured
from seamark_cluster.kubelet.host import Host, PodContext
from seamark_cluster.kubelet.status import INITIALIZING, ContainerFacts, PodFacts
from seamark_cluster.kubelet.volumes import File
from seamark_cluster.network.pods import Place
from seamark_runtime.api.core import Container, Pod, TokenFile, Volume
from seamark_runtime.api.meta import Key
from seamark_runtime.clock import timestamp
from seamark_runtime.errors import SeamarkError

log = structlog.get_logger(__name__)

RENEW = 0.8  # share of a token's lifetime after which it is renewed


class PodWorker:
    """Runs one Pod: its address, files, init containers, containers, and termination.

    - `facts` is what is known now; every change is reported.
    - Nothing is cancelled while a process runs: waiting ends early when the Pod terminates, processes end by signals.
    - `over` when none of its processes runs and its address is released; its logs stay until `remove`.
    """

    def __init__(self, host: Host, pod: Pod, changed: Callable[[], None]) -> None:
        self.pod = pod
        self.facts = PodFacts(node_address=host.network.node, started_at=timestamp(host.clock.wall()))
        self.containers: dict[str, ContainerWorker] = {}
        self.directory = host.directory / "pods" / (pod.uid or pod.metadata.name)
        self._host = host
        self._changed = changed
        self._ending = Ending()
        self._context: PodContext | None = None
        self._tokens: dict[tuple[str, str], tuple[bytes, float]] = {}
        self._timers: list[asyncio.TimerHandle] = []
        self._refills: set[asyncio.Task[None]] = set()
        before = [status for status in pod.status.container_statuses or () if status.state]
        restarted = {item.name: item.restart_count + ("waiting" not in (item.state or {})) for item in before}
        waiting = INITIALIZING if pod.spec.init_containers else ContainerFacts().state
        self._note(
            containers={
                container.name: ContainerFacts(state=waiting, restarts=restarted.get(container.name, 0))
                for container in pod.spec.containers
            }
        )
        self._task = asyncio.get_running_loop().create_task(self._run())

    @property
    def over(self) -> bool:
        return self._task.done()

    @property
    def ready(self) -> bool:
        return all(self.facts.containers[container.name].ready for container in self.pod.spec.containers)

    def update(self, pod: Pod) -> None:
        """The Pod as the API server has it now."""
        self.pod = pod

    def refresh(self) -> None:
        """An object of its namespace changed that it may wait for, or that its files contain."""
        self._ending.poke()
        files = self._host.runtime.processes and self.facts.prepared and not self._ending.ending
        if self._context is not None and files:
            task = asyncio.get_running_loop().create_task(self._refill(self._context))
            self._refills.add(task)
            task.add_done_callback(self._refills.discard)

    def terminate(self, grace: float) -> None:
        """Terminates it within the grace period. If called again, the shorter period counts."""
        self._ending.end()
        for container in self.containers.values():
            container.stop()
        loop = asyncio.get_running_loop()
        self._timers.append(loop.call_later(grace, self._kill))

    async def ended(self) -> None:
        await asyncio.wait([self._task])

    def remove(self) -> None:
        """Removes its directory, with its logs."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _kill(self) -> None:
        for container in self.containers.values():
            container.kill()

    # ---- phases

    async def _run(self) -> None:
        place: Place | None = None
        try:
            place = await self._join()
            if place is not None:
                await self._run_containers(PodContext(self._host, self.pod, place, self.directory))
        except Exception:
            log.exception("Pod ended unexpectedly", pod=str(self.pod.key))
            self._kill()
        finally:
            for timer in self._timers:
                timer.cancel()
            if place is not None:
                self._host.network.leave(place)
            asyncio.get_running_loop().call_soon(self._changed)

    async def _join(self) -> Place | None:
        while not self._ending.ending:
            try:
                if self.pod.spec.host_network:
                    return self._host.network.host()
                return await self._host.network.join(self.pod.status.pod_ip)
            except (OSError, SeamarkError) as error:
                self._host.warn(self.pod, "FailedCreatePodSandBox", f"no network for the Pod: {error}")
                await self._ending.wait(RECHECK)
        return None

    async def _run_containers(self, context: PodContext) -> None:
        self._context = context
        self._note(address=context.place.address)
        if not await self._prepared(context):
            return
        self._note(prepared=True)
        sidecars: list[asyncio.Task[object]] = []
        initialized = await self._initialize(context, sidecars)
        if initialized:
            self._note(initialized=True)
            policy = self.pod.spec.restart_policy
            await asyncio.gather(
                *(self._container(context, container).run(policy) for container in self.pod.spec.containers)
            )
        if not self._ending.ending:
            self._note(finished=True)
        await self._end_sidecars(sidecars)

    async def _initialize(self, context: PodContext, sidecars: list[asyncio.Task[object]]) -> bool:
        """Init containers in order; whether all succeeded."""
        for container in self.pod.spec.init_containers or ():
            worker = self._container(context, container)
            if container.restart_policy == "Always":
                sidecars.append(asyncio.get_running_loop().create_task(worker.run("Always")))
                while not (worker.facts.started or self._ending.ending):
                    await self._ending.wait(RECHECK)
                continue
            policy = "Never" if self.pod.spec.restart_policy == "Never" else "OnFailure"
            ended = await worker.run(policy)
            if ended is None or ended.exit_code != 0 or self._ending.ending:
                return False
        return not self._ending.ending

    async def _end_sidecars(self, sidecars: list[asyncio.Task[object]]) -> None:
        if sidecars:
            self._ending.end()
            for container in self.pod.spec.init_containers or ():
                self.containers[container.name].stop()
            await asyncio.gather(*sidecars)

    def _container(self, context: PodContext, container: Container) -> ContainerWorker:
        known = self.facts.containers.get(container.name, ContainerFacts())
        worker = ContainerWorker(context, container, self._ending, self._container_changed, known)
        self.containers[container.name] = worker
        return worker

    def _container_changed(self, name: str, facts: ContainerFacts) -> None:
        self._note(containers={**self.facts.containers, name: facts})
        if facts.started:
            self._ending.poke()

    def _note(self, **changes: object) -> None:
        self.facts = replace(self.facts, **changes)  # type: ignore[arg-type]  # fields of PodFacts, by name
        self._changed()

    # ---- files

    async def _prepared(self, context: PodContext) -> bool:
        """Writes the Pod's files; False when it terminated before. What is missing is reported, and waited for."""
        if not self._host.runtime.processes:
            return True
        reported = ""
        while not self._ending.ending:
            try:
                await self._fill(context)
            except (NotConfigured, OSError) as error:
                if str(error) != reported:
                    self._host.warn(self.pod, "FailedMount", f"MountVolume.SetUp failed: {error}")
                    reported = str(error)
                await self._ending.wait(RECHECK)
            except SeamarkError as error:  # no token yet: the API server may be busy
                self._host.warn(self.pod, "FailedMount", error.message)
                await self._ending.wait(1.0)
            else:
                return True
        return False

    async def _refill(self, context: PodContext) -> None:
        try:
            await self._fill(context)
        except (NotConfigured, OSError, SeamarkError) as error:
            log.info("Pod files not updated", pod=str(self.pod.key), error=str(error))

    async def _fill(self, context: PodContext) -> None:
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._host.resolver is not None:
            (self.directory / "resolv.conf").write_text(self._host.resolver.file(self.pod.metadata.namespace))
        for volume in self.pod.spec.volumes or ():
            await self._fill_volume(context, volume)
        self._make_sub_paths(context)

    def _make_sub_paths(self, context: PodContext) -> None:
        for container in (*(self.pod.spec.init_containers or ()), *self.pod.spec.containers):
            for mount in container.volume_mounts or ():
                if mount.sub_path and not (path := context.mounted(mount)).exists():
                    path.mkdir(parents=True)

    async def _fill_volume(self, context: PodContext, volume: Volume) -> None:
        if volume.persistent_volume_claim is not None:
            claim = Key(self.pod.metadata.namespace, volume.persistent_volume_claim.claim_name)
            _link(context.volume(volume.name), await self._host.claimed(claim))
            return
        wanted = volumes.contents(self.pod, volume, self._host.lookup(self.pod.metadata.namespace), context.placement)
        directory: Path = context.volume(volume.name)
        if wanted.host is not None:
            if not wanted.host.exists():
                raise NotConfigured(f"hostPath {wanted.host} does not exist on this machine")
            return
        if wanted.kept:
            directory.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240  a local directory, at once
            return
        tokens = {token.path: File(await self._token(volume.name, token)) for token in wanted.tokens}
        volumes.write(directory, {**wanted.files, **tokens})

    async def _token(self, volume: str, wanted: TokenFile) -> bytes:
        """The same token until most of its lifetime is over; then a new one, and the files are written again."""
        loop = asyncio.get_running_loop()
        token, due = self._tokens.get((volume, wanted.path), (b"", 0.0))
        if loop.time() >= due:
            token = await self._host.token(self.pod, wanted)
            lasts = wanted.expiration_seconds * RENEW
            self._tokens[(volume, wanted.path)] = (token, loop.time() + lasts)
            self._timers.append(loop.call_later(lasts, self.refresh))
        return token


def _link(path: Path, directory: Path) -> None:
    """Its content belongs to the claim, and stays when the Pod is deleted."""
    directory.mkdir(parents=True, exist_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_symlink():
        path.symlink_to(directory)
