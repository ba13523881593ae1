"""A family as the rest of the program knows it: its name, its kinds, its controllers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from seamark_runtime.api.crd import CRD
from seamark_runtime.controller import Declaration


@dataclass(frozen=True)
class Family:
    name: str
    summary: str
    crds: tuple[CRD, ...]
    controllers: Callable[[], tuple[Declaration, ...]]
    published: Callable[[], list[dict[str, Any]]] = list  # manifests of kinds that others define, and it needs
