"""A closed network: a whole cluster and its test in a network namespace of their own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType

from seamark.cluster.network import namespaces
from seamark.core.errors import SeamarkError

NODE = "10.244.0.1"  # this machine, as Pods know it
PODS = "10.244.0.0/16"
SERVICES = "10.96.0.0/16"
OUTSIDE = "172.30.0.0/16"  # for addresses that people reach from outside, such as a Gateway's


class ClosedNetwork:
    """A network that nothing leaves and nothing enters; this thread is in it between `start` and `stop`.

    - Every port is free, 80 and 443 too. Two of them at once, in one process or in many, do not meet.
    - Threads and processes that are started inside are inside. Whoever started them ends them: a process that is
      left behind keeps the network alive, but can still reach nobody.
    - The node's address and the ranges for Services and for the outside are local here: a server can listen at any of
      their addresses, and one where nobody listens refuses at once. The Pods' range hangs on a bridge.
    - Without the rights for it `start` says so in one line.
    """

    def __init__(self, local: Sequence[str] = (SERVICES, OUTSIDE)) -> None:
        self.local = tuple(local)
        self.node = NODE
        self._before: int | None = None
        self._namespace: int | None = None

    def start(self) -> ClosedNetwork:
        if self._before is not None:
            raise SeamarkError("this closed network is in use already")
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
        """Back to where this thread was. A second time does nothing."""
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
    """The switch that all Pods of this machine hang on; the node's own address is on it."""
    length = network.partition("/")[2]
    namespaces.ip(
        (
            f"link add {BRIDGE} address {hardware(address)} type bridge",
            f"address add {address}/{length} dev {BRIDGE}",
            f"link set {BRIDGE} up",
        )
    )


def hardware(address: str) -> str:
    """The link address of whoever has this address, always the same.

    A bridge without one of its own takes that of a port, and another when that port goes; and a Pod may get the address
    of one that has gone. Whoever had remembered the old one would speak to nobody for half a minute.
    """
    return "0a:58:" + ":".join(f"{int(part):02x}" for part in address.split("."))
