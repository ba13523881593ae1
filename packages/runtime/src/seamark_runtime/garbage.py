"""The garbage collector holds the loop while it looks at everything that exists: this leaves it less to see."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

LOOK = 0.5


def spare_program() -> None:
    """Takes what exists now out of the collector's sight: a process calls it when it begins to serve.

    The collector would look at the whole program again and again, and hold the loop for 20 to 100 ms each time.
    """
    gc.freeze()


async def spare_what_stays(quiet: Callable[[], bool]) -> None:
    """Takes out of the collector's sight what is there to stay: the program, then, at the first rest, the caches.

    - What is spared and goes later is freed all the same, by reference counting; cached objects are in no cycle.
    - Done twice in the life of a process and not again: a frozen reference cycle would never be collected.
    """
    spare_program()
    while not quiet():  # noqa: ASYNC110  it happens once, and no other task depends on it
        await asyncio.sleep(LOOK)
    gc.freeze()
