"""SIGINT and SIGTERM ask a command to stop; it then ends in its own order."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from seamark_runtime.signals import STOP, run_until_stopped, stop_event, until_stopped


@pytest.mark.parametrize("number", STOP)
def test_a_stop_signal_cancels_the_work_and_lets_it_clean_up(number: signal.Signals) -> None:
    steps: list[str] = []

    async def work() -> None:
        os.kill(os.getpid(), number)
        try:
            await asyncio.Event().wait()
        finally:
            steps.append("cleaned up")

    asyncio.run(run_until_stopped(work()))
    assert steps == ["cleaned up"]


def test_an_error_of_the_work_is_raised() -> None:
    async def work() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        asyncio.run(run_until_stopped(work()))


@pytest.mark.parametrize("number", STOP)
def test_a_stop_signal_sets_the_event(number: signal.Signals) -> None:
    async def program() -> None:
        stopping = stop_event()
        os.kill(os.getpid(), number)
        await asyncio.wait_for(stopping.wait(), 5)

    asyncio.run(program())


@pytest.mark.parametrize("number", STOP)
def test_a_stop_signal_ends_work_without_a_loop_and_lets_it_clean_up(number: signal.Signals) -> None:
    steps, before = [], signal.getsignal(number)
    with until_stopped():
        try:
            os.kill(os.getpid(), number)
            steps.append("went on")
        finally:
            steps.append("cleaned up")
    assert steps == ["cleaned up"]
    assert signal.getsignal(number) is before
