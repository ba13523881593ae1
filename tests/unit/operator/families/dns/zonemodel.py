"""What a name server answers from a zone, as far as names go: RFC 4592 (wildcards) and zone cuts. Not from our code."""

from __future__ import annotations

from collections.abc import Collection

SERVICES = ("_x", "_x._y", "a._x", "_x.a._y")  # labels of names by which others verify who controls a host


class ZoneModel:
    """The names with records in a zone; `cuts` are those with an NS record."""

    def __init__(self, zone: str, names: Collection[str], cuts: Collection[str] = ()) -> None:
        self._zone = zone
        self._names = frozenset(names)
        self._cuts = frozenset(cuts)
        self._exist = {zone, *(node for name in names for node in self._up(name))}

    def answers(self, query: str) -> str:
        """The name whose records are the answer; empty where there are none."""
        up = list(self._up(query))
        for above in reversed(up[1:]):
            if above in self._cuts:
                return above
        if query in self._exist:
            return query if query in self._names else ""
        encloser = next(above for above in up if above in self._exist)
        wildcard = f"*.{encloser}"
        return wildcard if wildcard in self._names else ""

    def _up(self, name: str) -> list[str]:
        """The name and all names above it, down to the zone."""
        labels = name.removesuffix(self._zone).removesuffix(".").split(".") if name != self._zone else []
        return [".".join([*labels[number:], self._zone]) for number in range(len(labels) + 1)]


def verifying(name: str) -> list[str]:
    """Names by which others verify who controls a host, or all hosts of a wildcard."""
    host = name.removeprefix("*.")
    return [f"{labels}.{host}" for labels in SERVICES]
