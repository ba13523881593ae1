"""One write of the operator, as the world keeps it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.simulation.faults import Fault


@dataclass(frozen=True)
class Write:
    """One write that reached the store (or was refused on the way)."""

    time: float
    number: int
    method: str
    path: str
    body: bytes
    code: int
    answer: Mapping[str, Any]
    fault: Fault | None
    life: int  # which of the operator's processes wrote it
    manager: str = ""  # in whose name: a status may have several writers

    @property
    def is_status(self) -> bool:
        return self.path.endswith("/status")

    @property
    def target(self) -> tuple[str, str]:
        """What is done to which object: what is made is named in the body."""
        name = json.loads(self.body)["metadata"]["name"] if self.method == "POST" else ""
        return self.method, f"{self.path}/{name}?{self.manager}"

    @property
    def object_path(self) -> str:
        return self.target[1].removesuffix("/").removesuffix("/status")

    @property
    def took_effect(self) -> bool:
        return self.code < 300

    def line(self) -> bytes:
        return b"%.6f %d %s %s %d %s" % (
            self.time,
            self.number,
            self.method.encode(),
            self.path.encode(),
            self.code,
            self.body,
        )
