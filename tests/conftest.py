"""For all tests."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from types import FrameType

import pytest
import structlog
from _pytest.terminal import TerminalReporter
from hypothesis import HealthCheck, settings

from seamark_runtime import log
from tests.event_loop import Policy

asyncio.set_event_loop_policy(Policy())

# A busy machine is slow and not wrong.
settings.register_profile("seamark", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("seamark")


LONGEST = 600  # seconds


@pytest.fixture(autouse=True)
def an_end() -> Iterator[None]:
    """A test that hangs fails, so that the others have their turn."""

    def late(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"the test did not end within {LONGEST} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(LONGEST)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def plain_logs() -> Iterator[None]:
    """Logs as the product writes them into a file: a failed test shows them, and they cost little."""
    log.configure("info", out=sys.stdout)
    yield
    structlog.reset_defaults()


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """What tests have measured (`record_property("measured", …)`), also where they ran in another process."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name == "measured":
                terminalreporter.write_line(str(value))
