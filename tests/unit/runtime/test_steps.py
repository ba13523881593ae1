"""The longest step of a task: measured in CPU time, whatever the task waits for and however it ends."""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client import CollectorRegistry, Gauge
from structlog.testing import capture_logs

from seamark_runtime.steps import LongestStep, measured
from tests.virtual_time import run


class Work:
    """A clock that only work moves."""

    def __init__(self) -> None:
        self.spent = 0.0
        self.gauge = Gauge("longest", "", registry=CollectorRegistry())
        self.longest = LongestStep(self.gauge)

    def do(self, seconds: float) -> None:
        self.spent += seconds

    async def program(self) -> str:
        self.do(1)
        await asyncio.sleep(100)
        self.do(3)
        await asyncio.sleep(0)
        self.do(2)
        return "done"


def test_the_longest_step_is_the_one_that_worked_most_between_two_waits() -> None:
    work = Work()
    assert run(measured(work.program(), work.longest, lambda: work.spent)) == "done"
    assert work.longest.seconds == 3
    assert work.gauge._value.get() == 3


def test_a_step_that_is_longer_than_allowed_is_logged_with_its_task() -> None:
    work = Work()

    async def program() -> None:
        task = asyncio.get_running_loop().create_task(
            measured(work.program(), work.longest, lambda: work.spent / 50), name="worker 1: Greeting a/b"
        )
        await task

    with capture_logs() as logs:
        run(program())
    assert [(line["task"], line["milliseconds"]) for line in logs] == [("worker 1: Greeting a/b", 60)]


def test_a_cancellation_reaches_the_work() -> None:
    ended: list[str] = []

    async def waiting() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            ended.append("in good order")

    async def program() -> None:
        work = Work()
        task = asyncio.get_running_loop().create_task(measured(waiting(), work.longest))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(program())
    assert ended == ["in good order"]


def test_an_exception_comes_out_as_it_is_and_its_step_counts() -> None:
    work = Work()

    async def failing() -> None:
        await asyncio.sleep(0)
        work.do(5)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run(measured(failing(), work.longest, lambda: work.spent))
    assert work.longest.seconds == 5
