"""How many places are kept for a credential after its agents left, and which is given up first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from seamark_edge.edge.credentials import TOKEN, limit_of
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.store.store import Store


class KeptPlaces:
    """The places without an online endpoint, by the credential that each is kept for.

    - With `max_endpoints`, endpoints online and kept places of an authtoken together are at most that many.
    - Without it, as many are kept as the authtoken had endpoints online at once (all of them may come back after a
      restart), and `kept_per_token` at least. Binding and releasing one endpoint repeatedly keeps only one.
    - Beyond the limit the place that was kept first is given up.
    """

    def __init__(self, settings: EdgeSettings, store: Store, online: Callable[[str], int]) -> None:
        self._settings = settings
        self._store = store
        self._online = online  # endpoints of a credential
        self._places: dict[str, dict[str, None]] = {}  # only credentials with places; the oldest first
        self._most: Counter[str] = Counter()  # endpoints that were online at once; only of credentials that have any

    def expect(self, credential: str, count: int) -> None:
        """So many endpoints of it are, or were, online at once."""
        self._most[credential] = max(self._most[credential], count)

    def add(self, credential: str, key: str) -> list[str]:
        """Keep a place; what is given up for it."""
        places = self._places.setdefault(credential, {})
        places.pop(key, None)
        places[key] = None
        return self.trim(credential)

    def trim(self, credential: str) -> list[str]:
        """Give up what is beyond the limit."""
        places, allowed = self._places.get(credential, {}), self._allowed(credential)
        beyond = list(places)[: max(0, len(places) - allowed)]
        for key in beyond:
            self.discard(credential, key)
        return beyond

    def discard(self, credential: str, key: str) -> None:
        places = self._places.get(credential, {})
        places.pop(key, None)
        if not places:
            self._places.pop(credential, None)
            if not self._online(credential):
                del self._most[credential]

    def _allowed(self, credential: str) -> int:
        online, token = self._online(credential), self._store.get(TOKEN, credential)
        limit = limit_of(token, "max_endpoints", 0) if token else 0
        if limit:
            return max(0, limit - online)
        return min(
            max(0, self._settings.endpoints_per_token - online),
            max(self._settings.kept_per_token, self._most[credential] - online),
        )
