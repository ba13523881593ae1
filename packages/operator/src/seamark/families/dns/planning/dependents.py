"""Which names were planned by what is at other names. No I/O."""

from __future__ import annotations

from collections.abc import Iterable


class Dependents:
    """Which names were planned by what is at other names."""

    def __init__(self) -> None:
        self._others: dict[str, tuple[str, ...]] = {}  # by name: those it was planned by
        self._names: dict[str, dict[str, None]] = {}  # the reverse of it

    def note(self, name: str, others: tuple[str, ...]) -> None:
        self.forget(name)
        if others:
            self._others[name] = others
        for other in others:
            self._names.setdefault(other, {})[name] = None

    def forget(self, name: str) -> None:
        for other in self._others.pop(name, ()):
            if (names := self._names.get(other)) is not None:
                names.pop(name, None)
                if not names:
                    del self._names[other]

    def planned_by(self, other: str) -> Iterable[str]:
        return self._names.get(other, ())
