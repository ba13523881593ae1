"""A board outside of the cluster, on which greetings are posted.

- A post is known by its owner key, so that after a lost reply it is found again and never made twice.
"""

from __future__ import annotations

from typing import Protocol


class Board(Protocol):
    async def post(self, board: str, owner: str, text: str) -> None:
        """Sets the text of the owner's post. Repeating it changes nothing."""
        ...

    async def retract(self, board: str, owner: str) -> None:
        """Removes the owner's post. A missing post is success."""
        ...
