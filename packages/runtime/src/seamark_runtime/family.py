"""A family as the rest of the program knows it: its name, its kinds, its controllers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from seamark_runtime.api.crd import CRD
from seamark_runtime.controller import Declaration


def _nothing() -> None:
    """Nothing has to be configured."""


@dataclass(frozen=True)
class Family:
    """`require` raises UserError about what has to be configured before the operator starts; the rest needs it not.

    `outlived`, of a family whose processes on this machine may outlive the operator: its controllers, for an operator
    of this installation. An installation is a text that differs for the operators of two clusters, or of two Leases.
    """

    name: str
    summary: str
    crds: tuple[CRD, ...]
    controllers: Callable[[], tuple[Declaration, ...]]
    published: Callable[[], list[dict[str, Any]]] = list  # manifests of kinds that others define, and it needs
    require: Callable[[], None] = _nothing
    outlived: Callable[[str], tuple[Declaration, ...]] | None = None

    def controllers_of(self, installation: str) -> tuple[Declaration, ...]:
        """Its controllers in the operator of an installation; without one, every process ends with the operator."""
        return self.outlived(installation) if self.outlived is not None else self.controllers()
