"""The calls of the family, performed at the board."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.families.sample.greeting.state import Post, Retract
from seamark.providers.board.protocol import Board


@dataclass(frozen=True)
class Remote:
    board: Board

    async def perform(self, action: Post | Retract) -> None:
        match action:
            case Post(board=name, owner=owner, text=text):
                await self.board.post(name, owner, text)
            case Retract(board=name, owner=owner):
                await self.board.retract(name, owner)
