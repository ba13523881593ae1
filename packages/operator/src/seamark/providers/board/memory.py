"""Boards of this process."""

from __future__ import annotations


class MemoryBoard:
    def __init__(self) -> None:
        self.posts: dict[tuple[str, str], str] = {}  # (board, owner) → text

    async def post(self, board: str, owner: str, text: str) -> None:
        self.posts[(board, owner)] = text

    async def retract(self, board: str, owner: str) -> None:
        self.posts.pop((board, owner), None)
