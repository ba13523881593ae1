"""The ports that forwarders listen on, handed out one to each target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

REST = 120.0
SPARE = 100  # ports that have rested and are remembered all the same


@dataclass
class Ports:
    """A range of ports.

    - A target keeps the port that its object has, as long as no older object has the same.
    - A port is given to one target at a time: not while any object has it, and not for `rest` seconds after the last
      one is gone, in which a forwarder that lags may still serve it. The range is walked in a circle, so a port comes
      again as late as it can.
    - What was given is remembered until the object shows it.
    """

    low: int
    high: int
    rest: float = REST
    _given: dict[str, int] = field(default_factory=dict)
    _seen: dict[int, float] = field(default_factory=dict)  # when a port was last seen in use
    _next: int = 0

    def assign(
        self, wanted: Iterable[str], held: Mapping[str, int], busy: Mapping[int, str], now: float
    ) -> dict[str, int | None]:
        """A port for each wanted name; None where none is free.

        `held`: ports of objects by name. `busy`: the object that has a port, of several the oldest.
        """
        wanted = dict.fromkeys(wanted)
        self._seen |= dict.fromkeys((*held.values(), *busy, *self._given.values()), now)
        if len(self._seen) > 2 * len(busy) + SPARE:
            self._seen = {port: seen for port, seen in self._seen.items() if now - seen < self.rest}
        if not self._next:
            self._next = max((one for one in held.values() if self.low <= one < self.high), default=self.low - 1) + 1
        self._given = {name: port for name, port in self._given.items() if name in wanted}
        taken = set(self._given.values())
        found: dict[str, int | None] = {}
        for name in wanted:
            port: int | None = held.get(name)
            if port is None or busy.get(port, name) != name or not self.low <= port <= self.high:
                port = self._given.get(name)
                if port is None or busy.get(port, name) != name:
                    port = self._free(taken, now)
            if port is not None:
                self._given[name] = port
                taken.add(port)
            found[name] = port
        return found

    def _free(self, taken: set[int], now: float) -> int | None:
        size = self.high - self.low + 1
        for step in range(size):
            port = self.low + (self._next - self.low + step) % size
            if port not in taken and now - self._seen.get(port, float("-inf")) >= self.rest:
                self._next = port + 1
                return port
        return None
