"""The memory of the collection of places: a place that its namespace has given up is kept for it for a while."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.families.loadbalancer.model.kept import KeptPlaces
from seamark.families.loadbalancer.places.claims import PlaceClaims
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.view import View


@dataclass(frozen=True)
class PlaceMemory:
    claims: PlaceClaims
    kept: KeptPlaces

    def advance(self, view: View, key: Key, _results: Results) -> None:
        self.kept.advance(key.name, min(self.claims.at(view, key), default=None), view.now)

    def forget(self, key: Key) -> None:
        """A place is forgotten when it has no claims; whom it is kept for is remembered until the hold ends."""
