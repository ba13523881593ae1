"""How long the event loop is held: whoever does the work, in every process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from seamark_edge.edge.metrics import EdgeMetrics
from seamark_edge.forwarder.metrics import ForwarderMetrics
from seamark_runtime.loopwatch import LoopWatch
from seamark_runtime.metrics import Metrics
from tests.virtual_time import run

GAUGE = "seamark_loop_longest_block_seconds"


class Work:
    """A clock that only work moves."""

    def __init__(self) -> None:
        self.spent = 0.0
        self.registry = CollectorRegistry()
        self.watch = LoopWatch(self.registry, now=lambda: self.spent)

    def do(self, seconds: float) -> None:
        self.spent += seconds

    async def during(self, loop: asyncio.AbstractEventLoop) -> None:
        """Seconds of work in a step of a task, in callbacks of one iteration, and in a timer's callback."""
        await asyncio.sleep(1)
        self.do(0.02)
        await asyncio.sleep(1)
        loop.call_soon(self.do, 0.01)
        loop.call_soon(self.do, 0.03)
        await asyncio.sleep(1)
        loop.call_later(1, self.do, 0.01)
        await asyncio.sleep(2)


def test_whatever_runs_between_two_looks_of_the_loop_counts() -> None:
    work = Work()

    async def program() -> None:
        async with work.watch.running():
            await work.during(asyncio.get_running_loop())

    run(program())
    assert work.watch.seconds == pytest.approx(0.04)
    assert work.registry.get_sample_value(GAUGE) == pytest.approx(0.04)


def test_a_loop_that_is_held_for_longer_than_allowed_is_logged() -> None:
    work = Work()

    async def program() -> None:
        async with work.watch.running():
            for seconds in (0.04, 0.06, 0.055, 0.2):
                await asyncio.sleep(1)
                work.do(seconds)
            await asyncio.sleep(1)

    with capture_logs() as logs:
        run(program())
    assert [line["milliseconds"] for line in logs] == [60, 200]


def test_work_of_other_threads_is_not_the_loops() -> None:
    async def program() -> None:
        watch = LoopWatch(CollectorRegistry())
        async with watch.running():
            await asyncio.to_thread(sum, range(2_000_000))
        assert watch.seconds < 0.02

    asyncio.run(program())


REGISTRIES: dict[str, Callable[[], CollectorRegistry]] = {
    "operator and console": lambda: Metrics().registry,
    "edge": lambda: EdgeMetrics(CollectorRegistry()).registry,
    "forwarder": lambda: ForwarderMetrics().registry,
}


@pytest.mark.parametrize("process", REGISTRIES)
def test_the_metrics_of_a_process_have_the_gauge(process: str) -> None:
    """The hostile harness reads it from every process that runs, the agent included."""
    assert REGISTRIES[process]().get_sample_value(GAUGE) == 0
