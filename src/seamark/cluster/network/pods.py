"""Where a Pod's processes live in the network: in a namespace of their own, on loopback, or nowhere at all."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from seamark.cluster.network import namespaces
from seamark.cluster.network.addresses import Addresses
from seamark.cluster.network.closed import BRIDGE, open_bridge


@dataclass(frozen=True)
class Place:
    """One Pod's address, and the namespace that it has it in (None: this machine's own)."""

    address: str
    namespace: int | None = None


class Network(Protocol):
    """Gives places to Pods. `close` leaves no interface and no route behind that this network made."""

    node: str

    def open(self) -> None: ...

    async def join(self, wanted: str = "") -> Place: ...

    def leave(self, place: Place) -> None: ...

    def close(self) -> None: ...


class BridgedNetwork:
    """A namespace for each Pod, with one interface on a bridge to which this machine belongs too.

    - A Pod reaches other Pods directly, and everything else by way of the node, where the Services' range is local.
    - Nothing is forwarded to other networks. A bridge that is already there is used, and left there.
    """

    def __init__(self, node: str, pods: str, services: str) -> None:
        self.node = node
        self._pods = pods
        self._services = services
        self._addresses = Addresses(pods, reserved=(node,))
        self._made: list[str] = []

    def open(self) -> None:
        namespaces.demand()
        if not _has_link(BRIDGE):
            open_bridge(self.node, self._pods)
            self._made.append(f"link delete {BRIDGE}")
        if not _has_local_route(self._services):
            namespaces.ip((f"route add local {self._services} dev lo",))
            self._made.append(f"route delete local {self._services} dev lo")

    async def join(self, wanted: str = "") -> Place:
        place = Place(self._addresses.take(wanted), namespaces.create())
        try:
            await asyncio.to_thread(self._wire, place)
        except BaseException:
            self.leave(place)
            raise
        return place

    def leave(self, place: Place) -> None:
        if place.namespace is not None:
            os.close(place.namespace)  # the kernel takes the interfaces away with the last process there
        self._addresses.give_back(place.address)

    def close(self) -> None:
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
                f"address add {place.address}/{length} dev eth0",
                "link set eth0 up",
                f"route add default via {self.node}",
            ),
            place.namespace,
        )


class LoopbackNetwork:
    """An address of 127.0.0.0/8 for each Pod, with no rights needed. Only the embedded cluster allows such addresses.

    - All Pods share this machine's ports: a program has to listen at its Pod's address, which it finds in POD_IP.
    """

    def __init__(self, pods: str = "127.244.0.0/16") -> None:
        self.node = "127.0.0.1"
        self._addresses = Addresses(pods)

    def open(self) -> None:
        """Nothing is to be made."""

    async def join(self, wanted: str = "") -> Place:
        return Place(self._addresses.take(wanted))

    def leave(self, place: Place) -> None:
        self._addresses.give_back(place.address)

    def close(self) -> None:
        """Nothing was made."""


class PaperNetwork(LoopbackNetwork):
    """Addresses that exist on paper only: for Pods without processes."""

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
