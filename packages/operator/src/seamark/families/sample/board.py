"""A board outside of the cluster, on which greetings are posted.

- A post is known by its owner key, so that after a lost reply it is found again and never made twice.
"""

from __future__ import annotations

from typing import Protocol


class Board(Protocol):
    async def post(self, board: str, owner: str, text: str) -> None:
        """Makes the owner's post read so. Doing it again changes nothing."""
        ...

    async def retract(self, board: str, owner: str) -> None:
        """Takes the owner's post down. None there is success."""
        ...


class MemoryBoard:
    """Boards of this process."""

    def __init__(self) -> None:
        self.posts: dict[tuple[str, str], str] = {}

    async def post(self, board: str, owner: str, text: str) -> None:
        self.posts[(board, owner)] = text

    async def retract(self, board: str, owner: str) -> None:
        self.posts.pop((board, owner), None)
