"""What the garbage collector looks at while a process serves."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from seamark_runtime.garbage import spare_program


@pytest.fixture
def thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("thawed")
def test_the_collector_does_not_look_at_the_program_again() -> None:
    spare_program()
    assert len(gc.get_objects()) < gc.get_freeze_count() / 100
