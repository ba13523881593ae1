"""Which addresses the edge has reserved for which Services."""

from __future__ import annotations

from collections.abc import Iterable

from seamark_edge.model import Owner
from seamark_edge.urls import key_of
from seamark_runtime.source import Facts


class Reservations:
    """The addresses that the edge has reserved for Services, by its last response.

    `Remote` records them: they come from the edge, as annotations of a Service can be edited by its users.
    """

    def __init__(self) -> None:
        self.namespaces: Facts[str, str] = Facts("addresses reserved for Services")  # place → namespace
        self._of_owner: dict[Owner, frozenset[str]] = {}
        self._owners: dict[str, Owner] = {}  # of each place in `namespaces`: its last holder

    def record(self, owner: Owner, addresses: Iterable[str]) -> None:
        """These addresses are reserved for a Service, and no others."""
        after = frozenset(key_of(f"tcp://{address}") for address in addresses)
        before = self._of_owner.pop(owner, frozenset())
        if after:
            self._of_owner[owner] = after
        for where in before - after:
            if self._owners.get(where) == owner:  # else it has been reserved for another since
                del self._owners[where]
                self.namespaces.remove(where)
        for where in after:
            self._owners[where] = owner
            self.namespaces.put(where, owner.namespace)

    def clear(self) -> None:
        """The term of leadership is over: another leader may change what is reserved."""
        for owner in list(self._of_owner):
            self.record(owner, ())
