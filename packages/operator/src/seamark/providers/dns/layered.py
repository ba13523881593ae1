"""A large map of which every version stays as it was, at the cost of what changed."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, MutableMapping
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

THICKEST = 512  # entries of a layer; past that, all is copied once
GONE: Any = object()


class Layered(MutableMapping[K, V], Generic[K, V]):
    """A dict whose copies share what they have in common.

    - `copy` costs at most the size of a layer. A copy and its original never see each other's changes.
    - What it promises beside that is what a dict promises, the order of entries apart.
    """

    __slots__ = ("_base", "_layer", "_shared")

    def __init__(self, entries: Mapping[K, V] | None = None) -> None:
        self._base: dict[K, V] = {}
        self._layer: dict[K, V] = {}
        self._shared = False  # the base is shared: changes go to the layer
        if entries is not None:
            self.update(entries)

    def copy(self) -> Layered[K, V]:
        made = type(self)()
        self._shared = made._shared = True
        made._base, made._layer = self._base, dict(self._layer)
        return made

    def update(self, other: Any = (), /, **more: Any) -> None:
        if isinstance(other, Layered) and not self._base and not self._layer and not more:
            copied = other.copy()
            self._base, self._layer, self._shared = copied._base, copied._layer, True
        else:
            super().update(other, **more)

    def get(self, key: K, default: Any = None) -> Any:
        found = self._layer.get(key, self._base.get(key, GONE)) if self._layer else self._base.get(key, GONE)
        return default if found is GONE else found

    def __getitem__(self, key: K) -> V:
        found: V = self.get(key, GONE)
        if found is GONE:
            raise KeyError(key)
        return found

    def __contains__(self, key: object) -> bool:
        return self.get(key, GONE) is not GONE  # type: ignore[arg-type]  # whatever is asked for

    def __setitem__(self, key: K, value: V) -> None:
        if self._shared:
            self._layer[key] = value
            self._flatten()
        else:
            self._base[key] = value

    def __delitem__(self, key: K) -> None:
        if key not in self:
            raise KeyError(key)
        if self._shared:
            self._layer[key] = GONE
            self._flatten()
        else:
            del self._base[key]

    def __iter__(self) -> Iterator[K]:
        layer = self._layer
        for key in self._base:
            if key not in layer:
                yield key
        for key, value in layer.items():
            if value is not GONE:
                yield key

    def __len__(self) -> int:
        change = sum((value is not GONE) - (key in self._base) for key, value in self._layer.items())
        return len(self._base) + change

    def _flatten(self) -> None:
        if len(self._layer) > THICKEST:
            self._base = dict(self.items())
            self._layer = {}
            self._shared = False
