"""SIGINT and SIGTERM: how every command is asked to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

STOP = (signal.SIGINT, signal.SIGTERM)


def on_stop(stop: Callable[[], object]) -> None:
    """From now on a stop signal calls `stop` on the running loop instead of ending the process."""
    loop = asyncio.get_running_loop()
    for number in STOP:
        loop.add_signal_handler(number, stop)


def stop_event() -> asyncio.Event:
    """An event that a stop signal sets."""
    stopping = asyncio.Event()
    on_stop(stopping.set)
    return stopping


@contextmanager
def until_stopped() -> Iterator[None]:
    """For work without a loop: a stop signal ends it by `KeyboardInterrupt`, in its own order; this returns normally.

    A loop that runs inside may have its own handlers.
    """
    before = {number: signal.signal(number, signal.default_int_handler) for number in STOP}
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def run_until_stopped(work: Coroutine[Any, Any, None]) -> None:
    """Runs `work` to its end. A stop signal cancels it; it then ends in its own order, and this returns normally."""
    task = asyncio.ensure_future(work)
    on_stop(task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        if not task.done():
            raise
