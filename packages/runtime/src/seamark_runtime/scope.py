"""Which objects of a kind are followed: all of them, those of one namespace, those with certain labels.

- A declaration names a scope where it needs less than everything; its role is then no wider than that.
- One kind is followed once. Where declarations differ, what is followed is wide enough for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Scope:
    """Objects outside of it are not watched: for readers they do not exist."""

    namespace: str = ""
    labels: tuple[tuple[str, str], ...] = ()

    @classmethod
    def labelled(cls, labels: Mapping[str, str], namespace: str = "") -> Scope:
        return cls(namespace, tuple(sorted(labels.items())))

    @property
    def selectors(self) -> dict[str, str]:
        """As the API server's list and watch take it."""
        return {"labelSelector": ",".join(f"{name}={value}" for name, value in self.labels)} if self.labels else {}


EVERYTHING = Scope()


def widest(scopes: Iterable[Scope]) -> Scope:
    """The narrowest scope that holds all of these."""
    scopes = list(scopes)
    namespaces = {scope.namespace for scope in scopes}
    shared = set.intersection(*(set(scope.labels) for scope in scopes)) if scopes else set()
    return Scope(namespaces.pop() if len(namespaces) == 1 else "", tuple(sorted(shared)))
