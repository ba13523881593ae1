from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import pytest

from seamark_runtime import garbage


@pytest.fixture(autouse=True)
def nothing_stays_spared() -> Iterator[None]:
    yield
    gc.unfreeze()


def collected(thing: object) -> bool:
    """Whether the collector still looks at it."""
    return any(known is thing for known in gc.get_objects())


def test_the_program_is_spared_at_once_and_the_caches_at_the_first_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage, "LOOK", 0)
    program: list[object] = []
    cached: list[list[object]] = []
    assert collected(program)

    def quiet() -> bool:
        assert not collected(program)
        assert all(collected(entry) for entry in cached)
        cached.append([])
        return len(cached) == 3

    asyncio.run(garbage.spare_what_stays(quiet))
    assert not any(collected(entry) for entry in cached)
