"""Endpoints that forward to endpoints: bounded work for a connection, and circles refused when they are made."""

from __future__ import annotations

import time
from typing import Any, cast

import pytest
from prometheus_client import CollectorRegistry

from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.failures import Failures
from seamark_edge.edge.limits import ConnectionLimit
from seamark_edge.edge.metrics import EdgeMetrics
from seamark_edge.edge.policy import ANYWHERE, Client, Policy
from seamark_edge.edge.policy_document import parse_policy
from seamark_edge.edge.registry import MAX_HOPS, Agent, Entry, Registry
from seamark_edge.edge.routing import MAX_LOOKED, Router
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.edge.urls import parse_url

CLIENT = Client("192.0.2.1", 5)


class Holder:
    """An agent that is never sent anything."""

    gentle = False
    reports = False

    def __init__(self, name: str) -> None:
        self.id = name

    def open_proxy(self, *_: Any) -> Any:
        raise AssertionError("nothing is sent")


def entry(number: int, url: str, forward: str = "", **fields: Any) -> Entry:
    return Entry(
        id=f"ep_{number}",
        url=parse_url(url),
        binding="internal",
        created="",
        pooling=True,
        agent=cast("Agent", Holder(f"ts_{number % 3}")),
        policy=forwarding(forward) if forward else Policy(),
        **fields,
    )


def forwarding(*urls: str) -> Policy:
    actions = ",".join(f'{{"type":"forward-internal","config":{{"url":"{url}"}}}}' for url in urls)
    return parse_policy(f'{{"on_tcp_connect":[{{"actions":[{actions}]}}]}}')


def place(level: int) -> str:
    return f"tcp://level-{level}.internal:1"


def router(registry: Registry) -> Router:
    metrics = EdgeMetrics(CollectorRegistry())
    return Router(EdgeSettings(), registry, metrics, lambda _: ANYWHERE, Failures(metrics), ConnectionLimit(1, 1, 1))


def test_pools_that_forward_to_pools_cost_a_connection_no_more_than_its_share() -> None:
    registry, number = Registry(), 0
    for level in range(4):
        for _ in range(24):  # 24 to the power of 4 ways to the last pool
            registry.add(entry(number, place(level), place(level + 1)))
            number += 1
    registry.add(entry(number, place(4)))
    began = time.process_time()
    found = router(registry).candidates(parse_url(place(0)).key, CLIENT)
    assert [one.id for one in found] == [f"ep_{number}"]
    assert time.process_time() - began < 0.2  # each way on its own takes minutes


def test_a_big_pool_is_looked_at_in_part_and_each_member_gets_its_turn() -> None:
    registry = Registry()
    for number in range(100):
        registry.add(entry(number, place(0)))
    routed = router(registry)
    rounds = [routed.candidates(parse_url(place(0)).key, CLIENT) for _ in range(100)]
    assert {len(found) for found in rounds} == {MAX_LOOKED}
    assert len({found[0].id for found in rounds}) == 100


@pytest.mark.parametrize("length", range(1, MAX_HOPS + 1))
def test_a_policy_that_leads_back_to_its_own_endpoint_is_refused(length: int) -> None:
    registry = Registry()
    for level in range(1, length):
        registry.add(entry(level, place(level), place(level + 1)))
    last = entry(0, place(length), place(1))
    with pytest.raises(Refusal, match="leads back to"):
        registry.add(last)
    assert last.id not in registry.entries


def test_a_chain_of_forwards_that_is_too_long_is_refused() -> None:
    registry = Registry()
    for level in range(MAX_HOPS + 1, 1, -1):
        registry.add(entry(level, place(level), place(level + 1)))
    with pytest.raises(Refusal, match=f"more than {MAX_HOPS} endpoints"):
        registry.add(entry(1, place(1), place(2)))


def test_a_circle_that_could_not_be_seen_when_it_was_made_ends() -> None:
    registry = Registry()
    for level in range(2):
        registry.add(entry(level, place(level), place(1 - level)), restored=True)
    with pytest.raises(Refusal, match="offline"):
        router(registry).candidates(parse_url(place(0)).key, CLIENT)


def test_what_an_agent_and_a_token_hold_is_known_at_every_moment() -> None:
    registry = Registry()
    entries = [entry(number, place(number % 4), credential=f"cr_{number % 2}") for number in range(20)]
    for one in entries:
        registry.add(one)
    assert (registry.of_credential("cr_0"), registry.of_credential("cr_1"), registry.of_credential("x")) == (10, 10, 0)
    first = entries[0].agent
    assert first is not None
    assert {one.id for one in registry.of_agent(first)} == {one.id for one in entries[::3]}
    for one in entries:
        registry.remove(one)
        registry.remove(one)
    assert (registry.of_credential("cr_0"), registry.of_agent(first), registry.entries) == (0, [], {})
