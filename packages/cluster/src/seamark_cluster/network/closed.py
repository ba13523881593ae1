"""An isolated network: a whole cluster and its test in a network namespace of their own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType

from seamark_cluster.network import namespaces
from seamark_runtime.errors import SeamarkError

NODE = "10.244.0.1"  # this machine's address in the Pod network
PODS = "10.244.0.0/16"
SERVICES = "10.96.0.0/16"
OUTSIDE = "172.30.0.0/16"  # for addresses reached from outside, such as a Gateway's


class ClosedNetwork:
    """A network without connection to any other; this thread is in it between `start` and `stop`.

    - Every port is free, 80 and 443 too. Two such networks, in one process or several, are isolated from each other.
    - Threads and processes started inside are inside. Their starter has to end them: a process left behind keeps the
      namespace alive, without connection to any other.
    - The node's address and the ranges for Services and external addresses are local: a server can listen on any of
      their addresses, and without a listener a connection is refused at once. The Pod range is on a bridge.
    - Without the necessary rights `start` raises a UserError.
    """

    def __init__(self, local: Sequence[str] = (SERVICES, OUTSIDE)) -> None:
        self.local = tuple(local)
        self.node = NODE
        self._before: int | None = None
        self._namespace: int | None = None

    def start(self) -> ClosedNetwork:
        if self._before is not None:
            raise SeamarkError("this isolated network is already in use")
        namespaces.demand()
        before, self._namespace = namespaces.current(), namespaces.create()
        namespaces.enter(self._namespace)
        self._before = before
        try:
            namespaces.ip(("link set lo up", *(f"route add local {part} dev lo" for part in self.local)))
            open_bridge(NODE, PODS)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Moves this thread back. Idempotent."""
        if self._before is None or self._namespace is None:
            return
        namespaces.enter(self._before)
        os.close(self._before)
        os.close(self._namespace)
        self._before = self._namespace = None

    def __enter__(self) -> ClosedNetwork:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


BRIDGE = "seamark0"


def open_bridge(address: str, network: str) -> None:
    """The bridge that connects all Pods of this machine; it has the node's address."""
    length = network.partition("/")[2]
    namespaces.ip(
        (
            f"link add {BRIDGE} address {hardware(address)} type bridge",
            f"address add {address}/{length} dev {BRIDGE}",
            f"link set {BRIDGE} up",
        )
    )


def hardware(address: str) -> str:
    """A link address derived from the IP address, so that it never changes.

    A bridge without an address of its own takes that of a port, and another when that port goes; and a Pod may get the
    IP address of a deleted one. A neighbour cache with the old link address would lose packets for half a minute.
    """
    return "0a:58:" + ":".join(f"{int(part):02x}" for part in address.split("."))
