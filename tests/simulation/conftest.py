from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog

from tests.simulation.runner import quiet_logs


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    quiet_logs()
    yield
    structlog.reset_defaults()
