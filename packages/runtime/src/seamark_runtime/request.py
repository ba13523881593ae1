"""The unit of work: one key of one controller."""

from __future__ import annotations

from typing import NamedTuple

from seamark_runtime.api.meta import Key


class Request(NamedTuple):
    controller: str
    key: Key

    def __str__(self) -> str:
        return f"{self.controller} {self.key}"
