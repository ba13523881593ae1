"""Shares of a token's or key's budget: no owner within it uses up what others need."""

from __future__ import annotations

import pytest
from aiohttp.test_utils import make_mocked_request

from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.shares import Caller, RequestShares, Shares
from seamark_edge.model import OWNER_HEADER, Owner, share_of
from seamark_edge.rest.app import owner_of

KEY = "ak_1"
ALL = Caller(KEY)


def owner(name: str) -> Caller:
    return Caller(KEY, name)


def spend(shares: Shares, caller: Caller, now: float, step: float = 0.01) -> float:
    """Use as much as is allowed at this moment, in small steps."""
    used = 0.0
    while not shares.wait(caller, now):
        shares.charge(caller, step, now)
        used += step
    return used


def test_one_greedy_owner_gets_half_and_the_holder_of_the_key_the_whole() -> None:
    assert spend(Shares(2.0), owner("a"), 100.0) == pytest.approx(1.0, abs=0.02)
    assert spend(Shares(2.0), ALL, 100.0) == pytest.approx(2.0, abs=0.02)


@pytest.mark.parametrize("greedy", [1, 2, 5, 50])
def test_a_newcomer_is_admitted_whatever_others_use(greedy: int) -> None:
    shares = Shares(2.0)
    for second in range(600):
        for number in range(greedy):
            spend(shares, owner(f"greedy {number}"), float(second), 0.001)
    assert shares.wait(owner("new"), 600.0) == 0
    assert spend(shares, owner("new"), 600.0, 0.0001) >= 0.9 / (greedy + 1)


def test_the_owners_of_a_key_never_use_more_than_the_key_may() -> None:
    shares, used = Shares(2.0), 0.0
    for second in range(600):
        used += sum(spend(shares, owner(f"{number}"), float(second)) for number in range(100))
    assert used <= 2.0 + 10 * 2.0 + 0.1


def test_greedy_owners_get_the_same_in_the_long_run_also_one_that_comes_late() -> None:
    shares, used = Shares(2.0), {"a": 0.0, "b": 0.0}
    for second in range(7200):
        for name in used if second >= 60 else ("a",):
            used[name] += spend(shares, owner(name), second / 2, 0.001)
    assert used["b"] == pytest.approx(used["a"], rel=0.1)


def test_an_owner_over_its_share_is_told_when_it_may_go_on() -> None:
    shares = Shares(2.0)
    spend(shares, owner("a"), 100.0)
    shares.charge(owner("a"), 0.5, 100.0)
    wait = shares.wait(owner("a"), 100.0)
    assert 10 < wait < 20
    assert shares.wait(owner("a"), 100.0 + wait) == 0
    assert shares.wait(Caller("ak_2", "a"), 100.0) == 0
    assert shares.wait(owner("b"), 100.0) == 0


def test_requests_of_one_namespace_use_up_those_of_no_other() -> None:
    requests = RequestShares(100)
    for _ in range(50):
        requests.spend(owner("a"), 100.0)
    with pytest.raises(Refusal, match="more than 100 requests a minute") as refusal:
        requests.spend(owner("a"), 100.0)
    assert (refusal.value.status, refusal.value.owner) == (429, "a")
    for _ in range(20):
        requests.spend(owner("b"), 100.0)


def test_the_share_of_an_object_is_that_of_its_namespace_also_where_only_its_key_is_known() -> None:
    one = Owner("cluster", "tenant-a", "shop", "uid")
    assert one.share == share_of(one.key) == "cluster/tenant-a"
    assert share_of("any name of an agent") == share_of("a/b/c/d/e/f") == ""


def test_an_api_request_names_its_owner_within_limits() -> None:
    assert owner_of(make_mocked_request("POST", "/endpoints", headers={OWNER_HEADER: "c/tenant-a"})) == "c/tenant-a"
    assert owner_of(make_mocked_request("POST", "/endpoints")) == ""
    for bad in ("x" * 321, "t\u00e9nant", "a\tb"):
        with pytest.raises(Refusal, match="Seamark-Owner is no printable ASCII text"):
            owner_of(make_mocked_request("POST", "/endpoints", headers={OWNER_HEADER: bad}))
