"""What the decisions about the configuration are made from."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.score import PlatformConfig

COPY = "last good"  # the role of the one child


@dataclass(frozen=True)
class Seen:
    """The configuration that users wrote, what is wrong with it, and the copy of the last valid one."""

    config: PlatformConfig
    trouble: str
    copy: PlatformConfig | None
