"""Policies: what is wrong is named by its path; what is put together must all allow."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.families.loadbalancer.policies import BadPolicy, bad_ranges, check, composed, same, text

DENY = {"type": "deny"}


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ([], "policy is no mapping"),
        ({"on_tea": []}, "policy.on_tea is no phase"),
        ({"on_tcp_connect": {}}, "policy.on_tcp_connect is no list"),
        ({"on_tcp_connect": ["x"]}, "policy.on_tcp_connect[0] is no mapping"),
        ({"on_tcp_connect": [{"actions": [DENY]}, {"actions": []}]}, "policy.on_tcp_connect[1].actions is empty"),
        ({"on_tcp_connect": [{}]}, "policy.on_tcp_connect[0].actions is no list"),
        ({"on_tcp_connect": [{"actions": [DENY], "when": 1}]}, "policy.on_tcp_connect[0].when is no field"),
        ({"on_tcp_connect": [{"actions": [DENY, {}]}]}, "policy.on_tcp_connect[0].actions[1].type is missing"),
        ({"on_http_request": [{"actions": [{**DENY, "config": 1}]}]}, "actions[0].config is no mapping"),
        ({"on_http_request": [{"actions": [DENY], "expressions": [""]}]}, "expressions[0] is no expression"),
        ({"on_http_request": [{"actions": [DENY], "name": 1}]}, "policy.on_http_request[0].name is no text"),
        ({"on_http_request": [{"actions": [{**DENY, "config": {"body": "x" * 70_000}}]}]}, "at most 65536"),
    ],
)
def test_the_message_has_the_path(policy: Any, words: str) -> None:
    with pytest.raises(BadPolicy) as told:
        check(policy)
    assert words in told.value.message
    assert not told.value.legacy


def test_the_format_of_before_is_known() -> None:
    with pytest.raises(BadPolicy) as told:
        check({"inbound": []})
    assert told.value.legacy


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=20,
)


@given(JSON)
def test_anything_is_a_policy_or_a_bad_one(policy: Any) -> None:
    try:
        check(policy)
    except BadPolicy as bad:
        words = bad.message
    else:
        words = "it is one"
    assert words


def test_source_ranges_come_first_and_where_connections_go_comes_last() -> None:
    users = {"on_tcp_connect": [{"actions": [DENY]}], "on_http_request": [{"actions": [DENY]}]}
    found = composed(users, ranges=["10.0.0.0/8"], terminate=True, forward="tcp://x.internal:80")
    kinds = [action["type"] for rule in found["on_tcp_connect"] for action in rule["actions"]]
    assert kinds == ["restrict-ips", "terminate-tls", "deny", "forward-internal"]
    assert found["on_http_request"] == users["on_http_request"]
    check(found)


def test_a_user_ends_tls_in_a_way_of_their_own() -> None:
    own = {"on_tcp_connect": [{"actions": [{"type": "terminate-tls", "config": {"min_version": "1.3"}}]}]}
    assert composed(own, terminate=True) == own


def test_without_anything_to_say_there_is_no_policy() -> None:
    assert composed(None) == {}
    assert text({}) == ""
    assert same("", "{}")


def test_the_same_policy_in_other_words() -> None:
    assert same('{"a": 1, "b": 2}', '{"b":2,"a":1}')
    assert not same('{"a": 1}', '{"a": 2}')
    assert same("not json", "not json")


def test_ranges_that_are_none() -> None:
    assert bad_ranges(["10.0.0.0/8", "2001:db8::/32", " 192.0.2.1/32 ", "10.0.0.0/33", "x"]) == ["10.0.0.0/33", "x"]
