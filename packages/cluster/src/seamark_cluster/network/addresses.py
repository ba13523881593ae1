"""Addresses for Pods, out of one range."""

from __future__ import annotations

import ipaddress
from collections import deque

from seamark_runtime.errors import SeamarkError


class Addresses:
    """Allocates the addresses of a range, each to one holder at a time.

    - The node's address, the network's and the broadcast address are never allocated.
    - A released address is reused as late as possible, so that stale clients do not reach another Pod.
    """

    def __init__(self, network: str, *, reserved: tuple[str, ...] = ()) -> None:
        self.network = ipaddress.ip_network(network)
        self._reserved = {ipaddress.ip_address(address) for address in reserved}
        self._fresh = self.network.hosts()
        self._returned: deque[str] = deque()
        self._held: set[str] = set()

    def take(self, wanted: str = "") -> str:
        """An address; the requested one if it is still free."""
        if wanted and wanted not in self._held and self._ours(wanted):
            self._held.add(wanted)
            return wanted
        for address in self._fresh:
            if address not in self._reserved and str(address) not in self._held:
                self._held.add(str(address))
                return str(address)
        while self._returned:
            old = self._returned.popleft()
            if old not in self._held:
                self._held.add(old)
                return old
        raise SeamarkError(f"no address left in {self.network}: too many Pods for this range")

    def give_back(self, address: str) -> None:
        if address in self._held:
            self._held.discard(address)
            self._returned.append(address)

    def _ours(self, address: str) -> bool:
        parsed = ipaddress.ip_address(address)
        edges = (self.network.network_address, self.network.broadcast_address)
        return parsed in self.network and parsed not in self._reserved and parsed not in edges
