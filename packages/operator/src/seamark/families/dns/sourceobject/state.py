"""What is wrong with the names of an object."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Seen:
    """The problems, as they are reported."""

    problems: tuple[str, ...]
