"""One Pod's life on this node, from its address to its end."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import structlog

from seamark.api.core import Container, Pod, TokenFile, Volume
from seamark.api.meta import Key
from seamark.cluster.kubelet import volumes
from seamark.cluster.kubelet.container import RECHECK, ContainerLife, Ending
from seamark.cluster.kubelet.environment import NotConfigured
from seamark.cluster.kubelet.host import Host, Surroundings
from seamark.cluster.kubelet.status import INITIALIZING, ContainerFacts, PodFacts
from seamark.cluster.kubelet.volumes import File
from seamark.cluster.network.pods import Place
from seamark.core.clock import timestamp
from seamark.core.errors import SeamarkError

log = structlog.get_logger(__name__)

RENEW = 0.8  # of a token's life


class Life:
    """Carries one Pod from its address through its files, init containers and containers to its end.

    - `facts` says at each moment what is known; every change of it is told.
    - Nothing here is cancelled while a process runs: waiting ends early when the Pod ends, processes end by signals.
    - `over` when nothing of it runs any more and its address is given back; its logs stay until `remove`.
    """

    def __init__(self, host: Host, pod: Pod, changed: Callable[[], None]) -> None:
        self.pod = pod
        self.facts = PodFacts(node_address=host.network.node, started_at=timestamp(host.clock.wall()))
        self.containers: dict[str, ContainerLife] = {}
        self.directory = host.directory / "pods" / (pod.uid or pod.metadata.name)
        self._host = host
        self._changed = changed
        self._ending = Ending()
        self._around: Surroundings | None = None
        self._tokens: dict[tuple[str, str], tuple[bytes, float]] = {}
        self._timers: list[asyncio.TimerHandle] = []
        self._refills: set[asyncio.Task[None]] = set()
        before = [one for one in pod.status.container_statuses or () if one.state]
        restarted = {one.name: one.restart_count + ("waiting" not in (one.state or {})) for one in before}
        waiting = INITIALIZING if pod.spec.init_containers else ContainerFacts().state
        self._note(
            containers={
                one.name: ContainerFacts(state=waiting, restarts=restarted.get(one.name, 0))
                for one in pod.spec.containers
            }
        )
        self._task = asyncio.get_running_loop().create_task(self._run())

    @property
    def over(self) -> bool:
        return self._task.done()

    @property
    def ready(self) -> bool:
        return all(self.facts.containers[one.name].ready for one in self.pod.spec.containers)

    def update(self, pod: Pod) -> None:
        """The Pod as the API server shows it now."""
        self.pod = pod

    def refresh(self) -> None:
        """Something in its namespace changed that it may wait for, or that its files show."""
        self._ending.poke()
        files = self._host.runtime.processes and self.facts.prepared and not self._ending.ending
        if self._around is not None and files:
            task = asyncio.get_running_loop().create_task(self._refill(self._around))
            self._refills.add(task)
            task.add_done_callback(self._refills.discard)

    def terminate(self, grace: float) -> None:
        """Ends it within the grace period. Asked again, the shorter period counts."""
        self._ending.end()
        for container in self.containers.values():
            container.stop()
        loop = asyncio.get_running_loop()
        self._timers.append(loop.call_later(grace, self._kill))

    async def ended(self) -> None:
        await asyncio.wait([self._task])

    def remove(self) -> None:
        """Its directory goes, with its logs."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def _kill(self) -> None:
        for container in self.containers.values():
            container.kill()

    # ---- the course of events

    async def _run(self) -> None:
        place: Place | None = None
        try:
            place = await self._join()
            if place is not None:
                await self._live(Surroundings(self._host, self.pod, place, self.directory))
        except Exception:
            log.exception("a Pod's life ended unexpectedly", pod=str(self.pod.key))
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

    async def _live(self, around: Surroundings) -> None:
        self._around = around
        self._note(address=around.place.address)
        if not await self._prepared(around):
            return
        self._note(prepared=True)
        sidecars: list[asyncio.Task[object]] = []
        well = await self._initialize(around, sidecars)
        if well:
            self._note(initialized=True)
            policy = self.pod.spec.restart_policy
            await asyncio.gather(*(self._container(around, one).run(policy) for one in self.pod.spec.containers))
        if not self._ending.ending:
            self._note(finished=True)
        await self._end_sidecars(sidecars)

    async def _initialize(self, around: Surroundings, sidecars: list[asyncio.Task[object]]) -> bool:
        """Init containers one after the other; whether all succeeded."""
        for one in self.pod.spec.init_containers or ():
            life = self._container(around, one)
            if one.restart_policy == "Always":
                sidecars.append(asyncio.get_running_loop().create_task(life.run("Always")))
                while not (life.facts.started or self._ending.ending):
                    await self._ending.wait(RECHECK)
                continue
            policy = "Never" if self.pod.spec.restart_policy == "Never" else "OnFailure"
            ended = await life.run(policy)
            if ended is None or ended.exit_code != 0 or self._ending.ending:
                return False
        return not self._ending.ending

    async def _end_sidecars(self, sidecars: list[asyncio.Task[object]]) -> None:
        if sidecars:
            self._ending.end()
            for one in self.pod.spec.init_containers or ():
                self.containers[one.name].stop()
            await asyncio.gather(*sidecars)

    def _container(self, around: Surroundings, container: Container) -> ContainerLife:
        known = self.facts.containers.get(container.name, ContainerFacts())
        life = ContainerLife(around, container, self._ending, self._told, known)
        self.containers[container.name] = life
        return life

    def _told(self, name: str, facts: ContainerFacts) -> None:
        self._note(containers={**self.facts.containers, name: facts})
        if facts.started:
            self._ending.poke()

    def _note(self, **changes: object) -> None:
        self.facts = replace(self.facts, **changes)  # type: ignore[arg-type]  # fields of PodFacts, by name
        self._changed()

    # ---- files

    async def _prepared(self, around: Surroundings) -> bool:
        """The Pod's files are there; False when it ended before. What is missing is told, and waited for."""
        if not self._host.runtime.processes:
            return True
        told = ""
        while not self._ending.ending:
            try:
                await self._fill(around)
            except (NotConfigured, OSError) as error:
                if str(error) != told:
                    self._host.warn(self.pod, "FailedMount", f"MountVolume.SetUp failed: {error}")
                    told = str(error)
                await self._ending.wait(RECHECK)
            except SeamarkError as error:  # no token yet: the API server may be busy
                self._host.warn(self.pod, "FailedMount", error.message)
                await self._ending.wait(1.0)
            else:
                return True
        return False

    async def _refill(self, around: Surroundings) -> None:
        try:
            await self._fill(around)
        except (NotConfigured, OSError, SeamarkError) as error:
            log.info("a Pod's files stay as they were", pod=str(self.pod.key), error=str(error))

    async def _fill(self, around: Surroundings) -> None:
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if self._host.resolver is not None:
            (self.directory / "resolv.conf").write_text(self._host.resolver.file(self.pod.metadata.namespace))
        for volume in self.pod.spec.volumes or ():
            await self._fill_volume(around, volume)
        self._make_sub_paths(around)

    def _make_sub_paths(self, around: Surroundings) -> None:
        for container in (*(self.pod.spec.init_containers or ()), *self.pod.spec.containers):
            for mount in container.volume_mounts or ():
                if mount.sub_path and not (path := around.volume(mount.name) / mount.sub_path).exists():
                    path.mkdir(parents=True)

    async def _fill_volume(self, around: Surroundings, volume: Volume) -> None:
        if volume.persistent_volume_claim is not None:
            claim = Key(self.pod.metadata.namespace, volume.persistent_volume_claim.claim_name)
            _link(around.volume(volume.name), await self._host.claimed(claim))
            return
        wanted = volumes.contents(self.pod, volume, self._host.lookup(self.pod.metadata.namespace), around.standing)
        directory: Path = around.volume(volume.name)
        if wanted.host is not None:
            if not wanted.host.exists():
                raise NotConfigured(f"hostPath {wanted.host} does not exist on this machine")
            return
        if wanted.kept:
            directory.mkdir(parents=True, exist_ok=True)  # noqa: ASYNC240  a local directory, at once
            return
        tokens = {one.path: File(await self._token(volume.name, one)) for one in wanted.tokens}
        volumes.write(directory, {**wanted.files, **tokens})

    async def _token(self, volume: str, wanted: TokenFile) -> bytes:
        """The same one until most of its life is over; then the files are written anew."""
        loop = asyncio.get_running_loop()
        token, due = self._tokens.get((volume, wanted.path), (b"", 0.0))
        if loop.time() >= due:
            token = await self._host.token(self.pod, wanted)
            lasts = wanted.expiration_seconds * RENEW
            self._tokens[(volume, wanted.path)] = (token, loop.time() + lasts)
            self._timers.append(loop.call_later(lasts, self.refresh))
        return token


def _link(path: Path, directory: Path) -> None:
    """What is there belongs to the claim, and stays when the Pod goes."""
    directory.mkdir(parents=True, exist_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_symlink():
        path.symlink_to(directory)
