"""Envoys on this machine: one process per gateway, started, watched, and ended with us.

- They go on serving while this process stands by, with the last configuration. They end when another process leads:
  on this machine it binds the same addresses.
- With a directory of their own (`state`) they are not ended then, nor with us: they serve with the last configuration
  until another process owns the directory, and adopts them.
- They are configured through a socket in a directory that only we can enter: secrets cross no network.
- One that ends is started again, after a pause that grows.
- An address and port is bound by one Envoy at a time. One that is to be handed over is waited for; meanwhile the Envoy
  that waits listens nowhere, because others may wait for an address that it has.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from seamark_edge.dataplane.envoy.binary import trouble
from seamark_edge.dataplane.envoy.bootstrap import bootstrap, by_socket, reconnecting_soon
from seamark_edge.dataplane.envoy.probe import connect
from seamark_edge.dataplane.envoy.process import Adopted, Process, Starter
from seamark_edge.dataplane.envoy.server import XdsServer, grpc_server
from seamark_edge.dataplane.envoy.state import Files, Record, Socket, StateDirectory, identity
from seamark_edge.dataplane.model import Snapshot
from seamark_edge.dataplane.protocol import Outcome, Presence, Served
from seamark_runtime.api.meta import Key
from seamark_runtime.errors import Retry
from seamark_runtime.source import Facts

log = structlog.get_logger(__name__)

OPTIONS = ("--concurrency", "1", "--disable-hot-restart", "--log-level", "warning", "--drain-time-s", "5")
PATIENCE = 2.0  # seconds for which a call waits until the server is up
LOOK = 0.5  # seconds between two looks at a directory that another process owns


@dataclass(eq=False)
class _Process:
    """A process that is kept running, and where it may listen."""

    keeping: asyncio.Task[None]
    sockets: frozenset[Socket] = frozenset()


class LocalEnvoys:
    """Contract of `protocol.DataPlane`. `binary` is Envoy's program; without a working one, every call fails with
    that message. With `state`, a directory, the Envoys outlive us."""

    def __init__(self, binary: Path | None, state: Path | None = None) -> None:
        self.presence: Facts[Key, Presence] = Facts("data plane")
        self.lasting = True
        self._binary = binary
        self._server = XdsServer(self.presence, certified=False)
        self._processes: dict[Key, _Process] = {}
        self._ending: list[_Process] = []  # of gateways that are gone: until they have ended they may listen
        self._state = StateDirectory(state) if state is not None else None
        self._folder: Path | None = None
        self._up = asyncio.Event()  # those that are left of an earlier process are adopted
        self._waiting = ""  # for what this waits
        self._leaving = False  # this process ends, and its Envoys run on
        self._starter = Starter()
        self._trouble = ""  # what is wrong with the program

    async def run(self) -> None:
        self._trouble = await asyncio.to_thread(trouble, self._binary)
        self._starter, self._leaving = Starter(outliving=self._state is not None), False
        async with self._home() as folder:
            server = grpc_server(self._server)
            server.add_insecure_port(f"unix:{folder / 'xds'}")
            try:
                if self._state is not None and not self._trouble:
                    await self._adopt(folder, self._state)
                await server.start()
                self._folder = folder
                self._up.set()
                await asyncio.Event().wait()
            finally:
                self._folder, self._leaving = None, self._state is not None  # nothing is started any more
                self._up.clear()
                keeping = [process.keeping for process in self._processes.values()]
                for task in keeping:
                    task.cancel()
                await asyncio.gather(*keeping, return_exceptions=True)
                if self._leaving and keeping:
                    log.info("envoys go on serving; `seamark gateway stop` ends them", number=len(keeping))
                self._processes.clear()
                self._starter.close()
                await server.stop(None)

    @asynccontextmanager
    async def _home(self) -> AsyncIterator[Path]:
        """The directory of the socket and of Envoys' files. One that others can own is waited for."""
        if self._state is None:
            folder = Path(tempfile.mkdtemp(prefix="seamark-envoy-"))
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            return
        try:
            while not self._state.acquire():
                self._waiting = f"another process runs the Envoys of {self._state.path}"
                await asyncio.sleep(LOOK)
        finally:
            self._waiting = ""
        try:
            (self._state.path / "xds").unlink(missing_ok=True)
            yield self._state.path
        finally:
            self._state.release()

    async def _adopt(self, folder: Path, state: StateDirectory) -> None:
        """Of the Envoys that an earlier process has left, those are used that it started as we would."""
        for files, record in await asyncio.to_thread(state.left):
            process = await asyncio.to_thread(files.process)
            if process is not None and record is not None and record.identity == self._identity(folder, record.gateway):
                log.info("envoy adopted", gateway=str(record.gateway))
                keeping = asyncio.get_running_loop().create_task(self._keep(folder, record.gateway, process))
                self._processes[record.gateway] = _Process(keeping, frozenset(record.sockets))
                continue
            if process is not None:
                await process.stop(5)
            files.remove()

    def _identity(self, folder: Path, gateway: Key) -> str:
        files = Files.of(folder, gateway)
        return identity(self._command(files), self._bootstrap(folder, gateway))

    def _command(self, files: Files) -> tuple[str, ...]:
        return (str(self._binary), "-c", str(files.config), *OPTIONS)

    def _bootstrap(self, folder: Path, gateway: Key) -> str:
        return json.dumps(reconnecting_soon(bootstrap(gateway, by_socket(str(folder / "xds")))))

    def _record(self, folder: Path, gateway: Key) -> None:
        if self._state is not None:
            process = self._processes.get(gateway)
            listening = tuple(sorted(process.sockets)) if process is not None else ()
            record = Record(gateway.namespace, gateway.name, self._identity(folder, gateway), listening)
            Files.of(folder, gateway).write_record(record)

    async def program(self, gateway: Key, snapshot: Snapshot) -> Outcome:
        if self._trouble:
            raise Retry(self._trouble)
        folder = await self._ready()
        wanted = sockets(snapshot)
        if taken := self._taken(gateway, wanted):
            await self._release(gateway, snapshot)
            address, port = min(taken)
            raise Retry(f"port {port} of the address {address} is still in use by another Gateway")
        process = self._process(folder, gateway)
        if process.sockets != wanted:
            process.sockets = wanted
            self._record(folder, gateway)
        outcome = await self._server.program(gateway, snapshot)
        if isinstance(outcome, Served):
            process.sockets = wanted
        return outcome

    async def _ready(self) -> Path:
        """A restart is no change of a status: a call that comes before the server is up waits for it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await self._up.wait()
        if self._folder is None or self._trouble:
            raise Retry(self._trouble or self._waiting or "the xDS server is not up yet")
        return self._folder

    def _process(self, folder: Path, gateway: Key) -> _Process:
        if gateway not in self._processes:
            keeping = asyncio.get_running_loop().create_task(self._keep(folder, gateway), name=f"envoy {gateway}")
            self._processes[gateway] = _Process(keeping)
        return self._processes[gateway]

    def _taken(self, gateway: Key, wanted: frozenset[Socket]) -> frozenset[Socket]:
        """The sockets among these at which Envoys of other gateways may listen."""
        others = [process for key, process in self._processes.items() if key != gateway]
        return wanted.intersection(
            frozenset[Socket]().union(*(process.sockets for process in (*others, *self._ending)))
        )

    async def _release(self, gateway: Key, snapshot: Snapshot) -> None:
        """Its Envoy listens nowhere any more."""
        process = self._processes.get(gateway)
        if process is None or not process.sockets:
            return
        if isinstance(await self._server.program(gateway, Snapshot(uid=snapshot.uid)), Served):
            process.sockets = frozenset()

    async def connect(self, host: str, port: int) -> None:
        await connect(host, port)

    async def remove(self, gateway: Key) -> None:
        process = self._processes.pop(gateway, None)
        if process is not None:
            self._ending.append(process)
            process.keeping.add_done_callback(lambda _: self._ending.remove(process))  # also without a waiting caller
            process.keeping.cancel()
        self._server.forget(gateway)
        if process is not None:
            await asyncio.gather(process.keeping, return_exceptions=True)

    async def retain(self, exists: Callable[[Key], bool]) -> None:
        await self._up.wait()
        for gateway in [gateway for gateway in self._processes if not exists(gateway)]:
            await self.remove(gateway)

    async def _keep(self, folder: Path, gateway: Key, adopted: Adopted | None = None) -> None:
        """Runs Envoy for this gateway, again and again, until cancelled. No failure of one round is the last."""
        pause = 0.5
        while True:
            began = asyncio.get_running_loop().time()
            try:
                output = await self._once(folder, gateway, adopted)
            except Exception:
                log.exception("envoy can't be run; trying again", gateway=str(gateway))
            else:
                log.warning("envoy ended; starting it again", gateway=str(gateway), output=output)
            adopted = None
            if asyncio.get_running_loop().time() - began > 60:
                pause = 0.5
            await asyncio.sleep(pause)
            pause = min(pause * 2, 30.0)

    async def _once(self, folder: Path, gateway: Key, adopted: Adopted | None) -> str:
        """One process, from its start, or its adoption, to its end. Returns what it wrote last."""
        files = Files.of(folder, gateway)
        try:
            process: Process = adopted or await self._started(folder, gateway, files)
            try:
                await process.wait()
            finally:
                if self._leaving:
                    process.leave()
                else:
                    await process.stop(5)
            return process.last_line()
        finally:
            if not self._leaving:
                with contextlib.suppress(OSError):
                    files.remove()

    async def _started(self, folder: Path, gateway: Key, files: Files) -> Process:
        files.config.write_text(self._bootstrap(folder, gateway))
        self._record(folder, gateway)
        return await self._starter.start(self._command(files), files.output)


def sockets(snapshot: Snapshot) -> frozenset[Socket]:
    return frozenset(
        (address, listener.port) for listener in snapshot.listeners.values() for address in listener.addresses
    )
