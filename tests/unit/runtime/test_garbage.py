"""What the garbage collector looks at while a process serves."""

from __future__ import annotations

import gc
import weakref
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


class Node:
    """Refers to itself: nothing but the collector frees it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.usefixtures("thawed")
def test_garbage_from_before_is_freed_and_not_spared() -> None:
    garbage = weakref.ref(Node())
    spare_program()
    assert garbage() is None
