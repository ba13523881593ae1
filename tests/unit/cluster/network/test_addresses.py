"""Addresses for Pods, and the error where the rights for networks are missing."""

from __future__ import annotations

import pytest

from seamark_cluster.network import namespaces
from seamark_cluster.network.addresses import Addresses
from seamark_cluster.network.closed import ClosedNetwork
from seamark_runtime.errors import SeamarkError, UserError


def test_each_address_is_handed_out_once_and_the_nodes_own_never() -> None:
    addresses = Addresses("10.244.0.0/29", reserved=("10.244.0.1",))
    taken = [addresses.take() for _ in range(5)]
    assert taken == [f"10.244.0.{number}" for number in range(2, 7)]
    with pytest.raises(SeamarkError, match=r"no address left in 10\.244\.0\.0/29"):
        addresses.take()


def test_a_returned_address_is_used_again_as_late_as_possible() -> None:
    addresses = Addresses("10.244.0.0/29", reserved=("10.244.0.1",))
    first, second = addresses.take(), addresses.take()
    addresses.give_back(second)
    addresses.give_back(first)
    assert [addresses.take() for _ in range(5)][-2:] == [second, first]


def test_a_wanted_address_is_given_if_it_is_free_and_ours() -> None:
    addresses = Addresses("10.244.0.0/24", reserved=("10.244.0.1",))
    assert addresses.take("10.244.0.9") == "10.244.0.9"
    assert addresses.take("10.244.0.9") == "10.244.0.2"
    assert addresses.take("10.244.0.1") == "10.244.0.3"
    assert addresses.take("192.168.0.1") == "10.244.0.4"
    assert addresses.take("10.244.0.255") == "10.244.0.5"


def test_without_the_rights_a_closed_network_reports_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(name: str, *_arguments: int) -> None:
        raise PermissionError(1, f"{name}: Operation not permitted")

    monkeypatch.setattr(namespaces, "_call", refused)
    with pytest.raises(UserError, match="network namespaces need root's rights here") as raised:
        ClosedNetwork().start()
    assert "\n" not in raised.value.message
