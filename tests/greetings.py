"""The controller of the sample kind, for tests that need a small one."""

from __future__ import annotations

from typing import Any

from seamark.families.sample.family import controllers
from seamark.families.sample.model.options import Options
from seamark.providers.board.memory import MemoryBoard
from seamark.providers.board.protocol import Board
from seamark_runtime.controller import Controller


def greeting_controller(board: Board | None = None, **options: float) -> Controller[Any]:
    (declared,) = controllers(Options(**options), board or MemoryBoard())
    assert isinstance(declared, Controller)
    return declared
