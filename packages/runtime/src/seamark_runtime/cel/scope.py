"""What a closure is evaluated in: the variables by name, and the meter of the evaluation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from seamark_runtime.cel.limits import Meter


class Scope(dict[str, Any]):
    """Variables. A loop makes one scope for all its items and binds its variable anew for each."""

    __slots__ = ("meter",)

    def __init__(self, variables: Any, meter: Meter) -> None:
        super().__init__(variables)
        self.meter = meter

    def binding(self, name: str, value: Any) -> Scope:
        inner = Scope(self, self.meter)
        inner[name] = value
        return inner


Evaluate = Callable[[Scope], Any]
