"""Families meet in objects alone: none knows another's code. So the words in which they meet are compared here."""

from __future__ import annotations

from seamark.families.gateway.model.addresses import ASSIGNED as READ
from seamark.families.loadbalancer.service.state import ASSIGNED as SAID


def test_gateways_read_the_condition_that_load_balancers_say() -> None:
    assert SAID.name == READ
