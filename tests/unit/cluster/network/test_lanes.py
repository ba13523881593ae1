"""Loopback ranges: each is used by one cluster only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from seamark_cluster.network import lanes
from seamark_cluster.network.lanes import Lane, claim, claim_gateways
from seamark_cluster.real.ports import Ports
from seamark_runtime.errors import UserError


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Isolated from clusters that run on this machine."""
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


def test_an_exhausted_range_is_reported(held: ExitStack) -> None:
    assert len({claimed(held).services for _ in range(lanes.LANES)}) == lanes.LANES
    with pytest.raises(UserError, match="end one of them"):
        claim()


def test_gateways_of_two_clusters_have_ranges_of_their_own(held: ExitStack) -> None:
    first, second = (held.enter_context(closing(claim_gateways())) for _ in range(2))
    assert first.addresses != second.addresses
    first.close()
    assert held.enter_context(closing(claim_gateways())) == first
