"""For all tests."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings

from seamark.core import log

# A busy machine is slow and not wrong.
settings.register_profile("seamark", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("seamark")


@pytest.fixture(autouse=True)
def plain_logs() -> Iterator[None]:
    """Logs as the product writes them into a file: a failed test shows them, and they cost little."""
    log.configure("info", out=sys.stdout)
    yield
    structlog.reset_defaults()
