"""Questions about single objects, put together: one request answers all that were asked within a short time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Generic, TypeVar

from seamark_runtime.errors import Retry

V = TypeVar("V")

LONGEST = 10.0  # seconds for a request


class Batches(Generic[V]):
    """Asks about many objects at once.

    - A question waits for `window` seconds at most before it is sent. Each batch has at most `most` objects.
    - An object is asked about once at a time: further callers get the same answer; None if it does not exist.
    - Invariant: every future in `_waiting` has a batch that will resolve it. A caller that is cancelled leaves the
      others alone.
    """

    def __init__(self, ask: Callable[[Collection[str]], Awaitable[Mapping[str, V]]], window: float, most: int) -> None:
        self._ask = ask
        self._window = window
        self._most = most
        self._waiting: dict[str, asyncio.Future[V | None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._collecting: list[str] = []

    async def ask(self, ident: str) -> V | None:
        answer = self._waiting.get(ident)
        if answer is None:
            loop = asyncio.get_running_loop()
            answer = self._waiting[ident] = loop.create_future()
            self._collecting.append(ident)
            if len(self._collecting) == 1:
                self._start(self._collected())
        return await asyncio.shield(answer)

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _collected(self) -> None:
        await asyncio.sleep(self._window)
        idents, self._collecting = self._collecting, []
        for start in range(0, len(idents), self._most):
            self._start(self._send(idents[start : start + self._most]))

    async def _send(self, idents: list[str]) -> None:
        try:
            async with asyncio.timeout(LONGEST):
                found = await self._ask(idents)
        except TimeoutError:
            self._failed(idents, Retry(f"no answer within {LONGEST:g} s"))
        except Exception as error:
            self._failed(idents, error)
        else:
            for ident in idents:
                self._waiting.pop(ident).set_result(found.get(ident))
        finally:
            for ident in idents:  # cancelled
                if ident in self._waiting:
                    self._waiting.pop(ident).cancel()

    def _failed(self, idents: list[str], error: Exception) -> None:
        for ident in idents:
            answer = self._waiting.pop(ident)
            answer.set_exception(error)
            answer.exception()  # it counts as retrieved: the caller may have been cancelled

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for answer in self._waiting.values():
            answer.cancel()
        self._waiting.clear()
        self._collecting.clear()
