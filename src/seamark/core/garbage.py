"""The garbage collector holds the loop while it looks at everything that exists: this leaves it less to see."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

LOOK = 0.5


async def spare_what_stays(quiet: Callable[[], bool]) -> None:
    """Takes out of the collector's sight what is there to stay: the program, then, at the first rest, the caches.

    - What is spared and goes later is freed all the same, by reference counting; cached objects are in no cycle.
    - It is done twice in the life of a process and not again: a cycle that happened to be spared would stay for ever.
    """
    gc.freeze()
    while not quiet():  # noqa: ASYNC110  it happens once, and nobody else needs to be told
        await asyncio.sleep(LOOK)
    gc.freeze()
