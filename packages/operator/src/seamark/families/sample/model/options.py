"""What is set for the whole family."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """In seconds."""

    shelf_life: float = 60.0  # how long a response of the board counts
    verify_every: float = 20.0  # how often a post is verified
