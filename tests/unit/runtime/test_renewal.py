"""Credentials that are loaded again, whatever comes in the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest

from seamark_runtime.connection import Connection
from seamark_runtime.errors import UserError
from seamark_runtime.renewal import DEADLINE, PATIENCE, REREAD, RETRY, Renewal
from tests.virtual_time import CLOCK, elapsed, run

HANGS = object()


@dataclass
class Plugin:
    """Each load takes its next answer: a token, an error, or nothing at all."""

    answers: list[object]
    takes: float = 0.0
    loads: list[float] = field(default_factory=list)  # when each began
    tokens: list[str] = field(default_factory=list)  # those that were used

    async def load(self) -> Connection:
        self.loads.append(elapsed())
        await asyncio.sleep(self.takes)
        answer = self.answers.pop(0)
        if answer is HANGS:
            await asyncio.Event().wait()
        if isinstance(answer, Exception):
            raise answer
        return Connection("http://api", token=str(answer))

    async def use(self, connection: Connection) -> None:
        self.tokens.append(connection.token)


def scenario(plugin: Plugin, test: Callable[[Renewal], Coroutine[Any, Any, None]]) -> None:
    async def program() -> None:
        renewal = Renewal(plugin.load, plugin.use, CLOCK)
        await renewal.first()
        await asyncio.sleep(1)
        await test(renewal)
        await renewal.stop()

    run(program())


def test_a_plugin_that_hangs_once_is_given_up_and_asked_again() -> None:
    plugin = Plugin(["one", HANGS, "two"])

    async def test(renewal: Renewal) -> None:
        since = elapsed()
        await renewal.after(since)
        assert elapsed() - since == DEADLINE
        assert plugin.tokens == ["one"]
        await asyncio.sleep(RETRY + 1)
        await renewal.if_due()
        assert plugin.tokens == ["one", "two"]

    scenario(plugin, test)


def test_while_a_plugin_hangs_requests_go_on_with_what_there_is() -> None:
    plugin = Plugin(["one", HANGS, "two"])

    async def test(renewal: Renewal) -> None:
        await asyncio.sleep(REREAD)
        since = elapsed()
        await renewal.if_due()
        assert elapsed() - since == PATIENCE
        for _ in range(100):
            await renewal.if_due()
        assert elapsed() - since == PATIENCE, "the next ones do not wait at all"

    scenario(plugin, test)


def test_a_request_that_gives_up_does_not_end_the_load_of_the_others() -> None:
    plugin = Plugin(["one", "two"], takes=6)

    async def test(renewal: Renewal) -> None:
        asked = elapsed()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await renewal.after(asked)
        await renewal.after(asked)
        assert plugin.tokens == ["one", "two"]
        assert elapsed() - asked == 6
        assert len(plugin.loads) == 2

    scenario(plugin, test)


@pytest.mark.parametrize("trouble", [UserError("no"), OSError("no"), ValueError("no"), RecursionError("no")])
def test_whatever_fails_later_raises_nothing(trouble: Exception) -> None:
    plugin = Plugin(["one", trouble, "two"])

    async def test(renewal: Renewal) -> None:
        await renewal.after(elapsed())
        assert plugin.tokens == ["one"]
        await asyncio.sleep(1)
        await renewal.after(elapsed())
        assert plugin.tokens == ["one", "two"]

    scenario(plugin, test)


def test_a_plugin_that_hangs_at_the_start_is_told() -> None:
    plugin = Plugin([HANGS])
    with pytest.raises(UserError, match="no credentials within 30 s: run the credential plugin"):
        run(Renewal(plugin.load, plugin.use, CLOCK).first())
