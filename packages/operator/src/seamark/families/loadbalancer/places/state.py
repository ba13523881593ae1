"""What is decided about a place from."""

from __future__ import annotations

from dataclasses import dataclass

from seamark_edge.claims import Claim


@dataclass(frozen=True, slots=True)
class Seen:
    where: str
    claims: tuple[Claim, ...]
