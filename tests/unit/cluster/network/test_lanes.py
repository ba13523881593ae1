"""Loopback ranges: nobody has one that somebody else has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from seamark.cluster.network import lanes
from seamark.cluster.network.lanes import Lane, claim
from seamark.cluster.real.ports import Ports
from seamark.core.errors import UserError


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clusters that run on this machine are not in the way, and nothing is taken from them."""
    with Ports("127.0.0.1") as ports:
        monkeypatch.setattr(lanes, "MARK", ports.reserve())
        yield


@pytest.fixture
def held() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def claimed(held: ExitStack) -> Lane:
    return held.enter_context(closing(claim()))


def test_each_has_its_own_until_it_is_given_back(held: ExitStack) -> None:
    first, second = claimed(held), claimed(held)
    assert len({first.services, first.pods, second.services, second.pods}) == 4
    first.close()
    assert claimed(held) == first


def test_when_all_are_taken_it_is_told(held: ExitStack) -> None:
    assert len({claimed(held).services for _ in range(lanes.LANES)}) == lanes.LANES
    with pytest.raises(UserError, match="end one of them"):
        claim()
