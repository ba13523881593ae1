"""The fake of the remote board: it keeps the contract, has the troubles that the world sends, and remembers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from seamark_runtime.errors import Retry
from tests.simulation.faults import CANARY, Fault

if TYPE_CHECKING:
    from tests.simulation.world import World

NEVER = float("-inf")


class TwinBoard:
    """- `confirmed`: when a board last confirmed that it shows this text, while it does.
    - `troubled`: when a board last failed an owner.
    - `made` counts posts that came and went, not how often they were confirmed.
    """

    def __init__(self) -> None:
        self.posts: dict[tuple[str, str], str] = {}
        self.confirmed: dict[tuple[str, str, str], float] = {}
        self.troubled: dict[tuple[str, str], float] = {}
        self.made: Counter[str] = Counter()
        self.world: World | None = None
        self.before_effect: Callable[[str], None] | None = None  # knows of the owner, before anything is shown

    async def post(self, board: str, owner: str, text: str) -> None:
        await self._call(board, owner, lambda: self._show(board, owner, text))
        self.confirmed[(board, owner, text)] = asyncio.get_running_loop().time()

    async def retract(self, board: str, owner: str) -> None:
        await self._call(board, owner, lambda: self._take_down(board, owner))

    def _show(self, board: str, owner: str, text: str) -> None:
        if self.before_effect is not None:
            self.before_effect(owner)
        before = self.posts.get((board, owner))
        if before is None:
            self.made["posted"] += 1
        elif before != text:
            self.confirmed.pop((board, owner, before), None)
        self.posts[(board, owner)] = text
        self._tell(f"the board {board} shows {text!r}")

    def _take_down(self, board: str, owner: str) -> None:
        text = self.posts.pop((board, owner), None)
        if text is not None:
            self.made["taken down"] += 1
            self.confirmed.pop((board, owner, text), None)
            self._tell(f"the board {board} shows it no more")

    async def _call(self, board: str, owner: str, effect: Callable[[], object]) -> None:
        world = self.world
        assert world is not None
        await asyncio.sleep(0.005)
        place, now = (board, owner), world.clock.monotonic()
        if world.under(Fault.OUTSIDE_REFUSES):
            self.troubled[place] = now
            raise Retry("the board is closed")
        if world.under(Fault.OUTSIDE_LEAKS):
            self.troubled[place] = now
            raise Retry(f"the board does not know Authorization: Bearer {CANARY}")
        if world.under(Fault.OUTSIDE_HANGS):
            self.troubled[place] = now + 10
            await asyncio.Event().wait()
        effect()
        if world.under(Fault.OUTSIDE_LOSES):
            self.troubled[place] = now + 10
            await asyncio.Event().wait()

    def _tell(self, words: str) -> None:
        if self.world is not None:
            self.world.tell(f"      {words}")
