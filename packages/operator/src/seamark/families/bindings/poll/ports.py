"""The ports that forwarders listen on, one for each target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

REST = 120.0
SPARE = 100  # ports that have rested and are remembered all the same


@dataclass(frozen=True)
class Ports:
    """A range of ports, and which target has which of them. `assign` is a pure transition to the next value.

    - A target keeps the port that its object has, as long as no older object has the same.
    - A port is assigned to one target at a time: not while any object has it, and not for `rest` seconds after the last
      one is deleted, in which a forwarder that lags may still serve it. The range is used in a circle, so a port is
      assigned again as late as possible.
    - An assigned port is remembered until the object shows it.
    - Assigned again at the same moment with the same objects, nothing changes.
    """

    low: int
    high: int
    rest: float = REST
    assigned: Mapping[str, int | None] = field(default_factory=dict)  # by wanted name; None: no port is free
    given: Mapping[str, int] = field(default_factory=dict)  # the last port of each wanted name
    in_use: Mapping[int, float] = field(default_factory=dict)  # when a port was last in use
    following: int = 0  # where the search for a free port begins; 0: not known yet

    def assign(self, wanted: Iterable[str], held: Mapping[str, int], busy: Mapping[int, str], now: float) -> Ports:
        """With a port for each wanted name, as far as there are any.

        `held`: ports of objects by name. `busy`: the object that has a port, of several the oldest.
        """
        names = dict.fromkeys(wanted)
        in_use = {**self.in_use, **dict.fromkeys((*held.values(), *busy, *self.given.values()), now)}
        given = {name: port for name, port in self.given.items() if name in names}
        taken = set(given.values())
        following = self.following or self._first(held)
        assigned: dict[str, int | None] = {}
        for name in names:
            port = self._kept(name, held, busy, given)
            if port is None and (port := self._free(following, taken, in_use, now)) is not None:
                following = port + 1
            if port is not None:
                given[name] = port
                taken.add(port)
            assigned[name] = port
        in_use |= dict.fromkeys(given.values(), now)
        if len(in_use) > 2 * len(busy) + SPARE:
            in_use = {port: at for port, at in in_use.items() if now - at < self.rest}
        return replace(self, assigned=assigned, given=given, in_use=in_use, following=following)

    def _first(self, held: Mapping[str, int]) -> int:
        """After the highest port that an object has."""
        return max((port for port in held.values() if self.low <= port < self.high), default=self.low - 1) + 1

    def _kept(
        self, name: str, held: Mapping[str, int], busy: Mapping[int, str], given: Mapping[str, int]
    ) -> int | None:
        """The port of the object, or the one that was assigned last, unless another object has it."""
        port = held.get(name)
        if port is not None and busy.get(port, name) == name and self.low <= port <= self.high:
            return port
        port = given.get(name)
        return port if port is not None and busy.get(port, name) == name else None

    def _free(self, following: int, taken: set[int], in_use: Mapping[int, float], now: float) -> int | None:
        size = self.high - self.low + 1
        for step in range(size):
            port = self.low + (following - self.low + step) % size
            if port not in taken and now - in_use.get(port, float("-inf")) >= self.rest:
                return port
        return None
