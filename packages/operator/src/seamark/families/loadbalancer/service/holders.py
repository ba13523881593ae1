"""Which of several Services has the place that all of them name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from seamark_runtime.api.core import Service


class Holders:
    """The first that was seen to have a place keeps it, for as long as it claims it.

    Annotations of a Service can be forged by its editors; what was observed can't. After a restart, before any
    observation, the order of `rank` decides.
    """

    def __init__(self) -> None:
        self._of_place: dict[str, str] = {}  # place → uid
        self._of_service: dict[str, set[str]] = {}  # uid → places

    def first(self, place: str, claimants: Iterable[Service], rank: Callable[[Service], tuple[bool, str, str]]) -> str:
        """The uid of the holder, or of the new one."""
        known = {one.uid: one for one in claimants}
        uid = self._of_place.get(place, "")
        if uid not in known:
            self._drop(uid, place)
            uid = min(known.values(), key=rank).uid
            self._of_place[place] = uid
            self._of_service.setdefault(uid, set()).add(place)
        return uid

    def keep(self, uid: str, claimed: Collection[str]) -> None:
        """A Service claims these places, and no others any more."""
        for place in self._of_service.get(uid, set()).difference(claimed):
            self._drop(uid, place)

    def _drop(self, uid: str, place: str) -> None:
        places = self._of_service.get(uid, set())
        places.discard(place)
        if not places:
            self._of_service.pop(uid, None)
        if self._of_place.get(place) == uid:
            del self._of_place[place]

    def __len__(self) -> int:
        return len(self._of_place)
