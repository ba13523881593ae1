"""Envoys on this machine: one process per gateway, started, watched, and ended with us.

- They are configured through a socket in a directory that only we can enter: secrets cross no network.
- One that ends is started again, after a pause that grows.
- An address and port is bound by one Envoy at a time. One that is to be handed over is waited for; meanwhile the Envoy
  that waits listens nowhere, because others may wait for an address that it has.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import hashlib
import json
import shutil
import signal
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from seamark_edge.dataplane.envoy.binary import trouble
from seamark_edge.dataplane.envoy.bootstrap import bootstrap, by_socket
from seamark_edge.dataplane.envoy.server import XdsServer, grpc_server
from seamark_edge.dataplane.model import Snapshot
from seamark_edge.dataplane.protocol import Outcome, Presence, Served
from seamark_runtime.api.meta import Key
from seamark_runtime.errors import Retry
from seamark_runtime.source import Facts

log = structlog.get_logger(__name__)

PR_SET_PDEATHSIG = 1
Socket = tuple[str, int]  # address and port


@dataclass(eq=False)
class _Process:
    """A process that is kept running, the last lines of its output, and where it may listen."""

    keeping: asyncio.Task[None]
    output: list[str] = field(default_factory=list)
    sockets: frozenset[Socket] = frozenset()


class LocalEnvoys:
    """Contract of `protocol.DataPlane`. `binary` is Envoy's program; without a working one, every call fails with
    that message."""

    def __init__(self, binary: Path | None) -> None:
        self.presence: Facts[Key, Presence] = Facts("data plane")
        self._binary = binary
        self._server = XdsServer(self.presence, certified=False)
        self._processes: dict[Key, _Process] = {}
        self._ending: list[_Process] = []  # of gateways that are gone: until they have ended they may listen
        self._folder: Path | None = None
        self._trouble = ""  # what is wrong with the program

    async def run(self) -> None:
        self._trouble = await asyncio.to_thread(trouble, self._binary)
        self._folder = Path(tempfile.mkdtemp(prefix="seamark-envoy-"))
        server = grpc_server(self._server)
        server.add_insecure_port(f"unix:{self._folder / 'xds'}")
        await server.start()
        try:
            await asyncio.Event().wait()
        finally:
            keeping = [process.keeping for process in self._processes.values()]
            for task in keeping:
                task.cancel()
            await asyncio.gather(*keeping, return_exceptions=True)
            self._processes.clear()
            await server.stop(None)
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    async def program(self, gateway: Key, snapshot: Snapshot) -> Outcome:
        if self._trouble:
            raise Retry(self._trouble)
        if self._folder is None:
            raise Retry("the xDS server is not up yet")
        wanted = sockets(snapshot)
        if taken := self._taken(gateway, wanted):
            await self._release(gateway, snapshot)
            address, port = min(taken)
            raise Retry(f"port {port} of the address {address} is still in use by another Gateway")
        process = self._process(gateway)
        process.sockets = wanted
        outcome = await self._server.program(gateway, snapshot)
        if isinstance(outcome, Served):
            process.sockets = wanted
        return outcome

    def _process(self, gateway: Key) -> _Process:
        if gateway not in self._processes:
            output: list[str] = []
            keeping = asyncio.get_running_loop().create_task(self._keep(gateway, output), name=f"envoy {gateway}")
            self._processes[gateway] = _Process(keeping, output)
        return self._processes[gateway]

    def _taken(self, gateway: Key, wanted: frozenset[Socket]) -> frozenset[Socket]:
        """Those of these sockets that the Envoys of other gateways may listen at."""
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

    async def remove(self, gateway: Key) -> None:
        process = self._processes.pop(gateway, None)
        if process is not None:
            self._ending.append(process)
            process.keeping.add_done_callback(lambda _: self._ending.remove(process))  # also without a waiting caller
            process.keeping.cancel()
        self._server.forget(gateway)
        if process is not None:
            await asyncio.gather(process.keeping, return_exceptions=True)

    async def _keep(self, gateway: Key, output: list[str]) -> None:
        """Runs Envoy for this gateway, again and again, until cancelled."""
        pause = 0.5
        while True:
            began = asyncio.get_running_loop().time()
            await self._once(gateway, output)
            if asyncio.get_running_loop().time() - began > 60:
                pause = 0.5
            log.warning("envoy ended; starting it again", gateway=str(gateway), output=output[-1:] or "")
            await asyncio.sleep(pause)
            pause = min(pause * 2, 30.0)

    async def _once(self, gateway: Key, output: list[str]) -> None:
        assert self._folder is not None
        digest = hashlib.sha256(str(gateway).encode()).hexdigest()  # the names themselves can be too long for a file's
        config = self._folder / f"{digest}.json"
        config.write_text(json.dumps(bootstrap(gateway, by_socket(str(self._folder / "xds")))))
        process = await asyncio.create_subprocess_exec(
            str(self._binary),
            *("-c", str(config), "--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"),
            *("--drain-time-s", "5"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            preexec_fn=die_with_us,
        )
        try:
            assert process.stderr is not None
            async for line in process.stderr:
                output[:] = [*output[-19:], line.decode(errors="replace").rstrip()]
            await process.wait()
        finally:
            if process.returncode is None:
                process.terminate()
                try:
                    async with asyncio.timeout(5):
                        await process.wait()
                except TimeoutError:
                    process.kill()
                    await process.wait()
            with contextlib.suppress(OSError):
                config.unlink()


def sockets(snapshot: Snapshot) -> frozenset[Socket]:
    return frozenset(
        (address, listener.port) for listener in snapshot.listeners.values() for address in listener.addresses
    )


def die_with_us() -> None:
    """So that no Envoy is left when the operator is killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
