"""A Pod's place in the network: a namespace of its own, a loopback address, or none."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from seamark_cluster.network import namespaces
from seamark_cluster.network.addresses import Addresses
from seamark_cluster.network.closed import BRIDGE, hardware, open_bridge
from seamark_runtime.errors import SeamarkError

SPARE = 4
AFTER_START = 0.5  # seconds: Pods that are starting have priority


@dataclass(frozen=True)
class Place:
    """One Pod's address, and its network namespace (None: this machine's own)."""

    address: str
    namespace: int | None = None
    mounts: bool = False  # whether its processes can have mounts of their own


class Network(Protocol):
    """Gives Pods their place. `close` removes every interface and route that this network created."""

    node: str

    def open(self) -> None: ...

    async def join(self, wanted: str = "") -> Place: ...

    def host(self) -> Place:
        """The machine's own place, for Pods with hostNetwork."""
        ...

    def leave(self, place: Place) -> None: ...

    def close(self) -> None: ...


class BridgedNetwork:
    """A namespace for each Pod, with one interface on a bridge that this machine is on too.

    - A Pod reaches other Pods directly, and everything else through the node, where the Service range is local.
    - Nothing is forwarded to other networks. An existing bridge is used, and kept.
    - A few places are prepared in advance, so that a Pod need not wait for its own.
    """

    def __init__(self, node: str, pods: str, services: str) -> None:
        self.node = node
        self._pods = pods
        self._services = services
        self._addresses = Addresses(pods, reserved=(node,))
        self._made: list[str] = []
        self._spare: deque[Place] = deque()
        self._filling: asyncio.Task[None] | None = None

    def open(self) -> None:
        namespaces.demand()
        if not _has_link(BRIDGE):
            open_bridge(self.node, self._pods)
            self._made.append(f"link delete {BRIDGE}")
        if not _has_local_route(self._services):
            namespaces.ip((f"route add local {self._services} dev lo",))
            self._made.append(f"route delete local {self._services} dev lo")
        self._refill()

    async def join(self, wanted: str = "") -> Place:
        if self._spare and not wanted:
            place = self._spare.popleft()
            self._refill()
            return place
        return await self._new(wanted)

    def host(self) -> Place:
        return Place(self.node, mounts=True)

    def _refill(self) -> None:
        if self._filling is None or self._filling.done():
            self._filling = asyncio.get_running_loop().create_task(self._fill())

    async def _fill(self) -> None:
        await asyncio.sleep(AFTER_START)
        while len(self._spare) < SPARE:
            try:
                self._spare.append(await self._new(""))
            except (OSError, SeamarkError):
                return  # the next Pod that joins gets the error

    async def _new(self, wanted: str) -> Place:
        place = Place(self._addresses.take(wanted), namespaces.create(), mounts=True)
        try:
            await asyncio.to_thread(self._wire, place)
        except BaseException:
            self.leave(place)
            raise
        return place

    def leave(self, place: Place) -> None:
        if place.namespace is not None:
            os.close(place.namespace)  # the kernel removes the interfaces with the last process in the namespace
        self._addresses.give_back(place.address)

    def close(self) -> None:
        if self._filling is not None:
            self._filling.cancel()
        while self._spare:
            self.leave(self._spare.popleft())
        if self._made:
            namespaces.ip(self._made)
            self._made = []

    def _wire(self, place: Place) -> None:
        assert place.namespace is not None
        length = self._pods.partition("/")[2]
        outer = "sm" + "".join(f"{int(part):02x}" for part in place.address.split("."))
        there = namespaces.path(place.namespace)
        namespaces.ip(
            (f"link add {outer} type veth peer name eth0 netns {there}", f"link set {outer} master {BRIDGE} up")
        )
        namespaces.ip(
            (
                "link set lo up",
                f"link set eth0 address {hardware(place.address)}",
                f"address add {place.address}/{length} dev eth0",
                "link set eth0 up",
                f"route add default via {self.node}",
            ),
            place.namespace,
        )


class LoopbackNetwork:
    """An address of 127.0.0.0/8 for each Pod, without special rights. Only the embedded cluster accepts such addresses.

    - All Pods share this machine's ports: a program has to listen on its Pod's address, which is in POD_IP.
    """

    def __init__(self, pods: str) -> None:
        self.node = "127.0.0.1"
        self._addresses = Addresses(pods)

    def open(self) -> None:
        """Nothing to create."""

    async def join(self, wanted: str = "") -> Place:
        return Place(self._addresses.take(wanted))

    def host(self) -> Place:
        return Place(self.node)

    def leave(self, place: Place) -> None:
        self._addresses.give_back(place.address)

    def close(self) -> None:
        """Nothing to remove."""


class StubNetwork(LoopbackNetwork):
    """Addresses without interfaces: for Pods without processes."""

    def __init__(self, node: str, pods: str) -> None:
        super().__init__(pods)
        self.node = node
        self._addresses = Addresses(pods, reserved=(node,))


def _has_link(name: str) -> bool:
    lines = Path("/proc/thread-self/net/dev").read_text().splitlines()
    return any(line.split(":")[0].strip() == name for line in lines)


def _has_local_route(network: str) -> bool:
    base, _, length = network.partition("/")
    wanted = f"/{length} host LOCAL"
    lines = [line.strip() for line in Path("/proc/thread-self/net/fib_trie").read_text().splitlines()]
    return any(first.endswith(f"-- {base}") and second == wanted for first, second in pairwise(lines))
