"""Questions about single objects, asked together."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import pytest

from seamark.providers.edge.batches import Batches
from seamark_runtime.errors import Retry
from tests.virtual_time import run


class Edge:
    """Answers with the length of a name, and knows no name with an x. It may fail, or not answer."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.error: Exception | None = None
        self.hangs = False

    async def ask(self, idents: Collection[str]) -> dict[str, int]:
        self.asked.append(list(idents))
        if self.hangs:
            await asyncio.Event().wait()
        if self.error is not None:
            raise self.error
        return {ident: len(ident) for ident in idents if "x" not in ident}


def test_questions_of_one_moment_are_one_request() -> None:
    async def story() -> None:
        edge = Edge()
        batches = Batches(edge.ask, 0.5, 2)
        found = await asyncio.gather(*(batches.ask(ident) for ident in ("a", "bb", "x", "a")))
        assert found == [1, 2, None, 1]
        assert edge.asked == [["a", "bb"], ["x"]]
        assert await batches.ask("a") == 1
        assert len(edge.asked) == 3

    run(story())


def test_an_error_is_that_of_all_who_asked_and_the_next_question_is_asked_again() -> None:
    async def story() -> None:
        edge = Edge()
        batches = Batches(edge.ask, 0.5, 100)
        edge.error = Retry("busy")
        found = await asyncio.gather(batches.ask("a"), batches.ask("b"), return_exceptions=True)
        assert all(answer is edge.error for answer in found)
        edge.error = None
        assert await batches.ask("a") == 1

    run(story())


def test_an_edge_that_does_not_answer_keeps_nothing_waiting() -> None:
    async def story() -> None:
        edge = Edge()
        batches = Batches(edge.ask, 0.5, 100)
        edge.hangs = True
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2):
                await batches.ask("a")
        with pytest.raises(Retry, match="no answer within 10 s"):
            await batches.ask("a")
        edge.hangs = False
        assert await batches.ask("a") == 1
        edge.hangs = True
        waiting = asyncio.ensure_future(batches.ask("b"))
        await asyncio.sleep(1)
        await batches.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    run(story())
