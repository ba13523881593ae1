"""Policies: what is wrong is named by its path; what is put together must all allow."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.families.loadbalancer.model.policies import BadPolicy, bad_ranges, check, composed, same, text
from seamark.families.loadbalancer.trafficpolicy.controller import observe
from seamark.families.loadbalancer.trafficpolicy.reconcile import judge
from seamark.providers.edge.memory import CAPABILITIES as MEMORY
from seamark.providers.edge.ngrok import CAPABILITIES as NGROK
from seamark.providers.edge.seamark import CAPABILITIES as SEAMARK
from seamark_edge.api.ngrok import NgrokTrafficPolicy, NgrokTrafficPolicySpec
from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.policy_document import parse_policy
from seamark_edge.model import Capabilities, CheckPostponed, is_policy_error
from seamark_runtime.api.meta import ObjectMeta
from seamark_runtime.apply import Answers
from seamark_runtime.calls import Results
from seamark_runtime.view import View

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


def rules(*expressions: str, **action: Any) -> dict[str, Any]:
    return {"on_tcp_connect": [{"expressions": list(expressions), "actions": [action or DENY]}]}


DEEP: Any = []
for _ in range(20):
    DEEP = [DEEP]

REFUSED_BY_THE_EDGE = [
    rules(type="rate-limit"),
    rules(type="deny", config={"status": 403}),
    {"on_http_request": [{"actions": [DENY]}]},
    rules(type="restrict-ips", config={"allow": DEEP}),
    rules(type="restrict-ips", config={"allow": ["nowhere"]}),
    rules(type="restrict-ips", config={"allow": ["10.0.0.0/8"] * 1001}),
    {"on_tcp_connect": [{"actions": [DENY] * 20}] * 60},
    rules("[1,2,3,4,5,6,7,8,9].all(a, " * 5 + "true" + ")" * 5),
    rules("math.abs(conn.client_port) > 1"),
    rules(type="terminate-tls", config={"server_certificate": "x", "server_private_key": "y"}),
    rules(type="forward-internal", config={"url": "tcp://example.com:1"}),
]


@pytest.mark.parametrize("policy", REFUSED_BY_THE_EDGE, ids=range(len(REFUSED_BY_THE_EDGE)))
def test_what_our_edge_refuses_is_refused_here_in_its_words_and_what_ngroks_does_is_not_known(policy: Any) -> None:
    with pytest.raises(Refusal) as refusal:
        parse_policy(policy)
    with pytest.raises(BadPolicy) as bad:
        check(policy, SEAMARK.policy_refusal)
    assert bad.value.message == refusal.value.message
    check(policy, NGROK.policy_refusal)


@pytest.mark.parametrize("capabilities", [SEAMARK, MEMORY])
def test_what_our_edge_accepts_is_accepted_here(capabilities: Capabilities) -> None:
    for policy in (
        {},
        rules("conn.client_port > 1024"),
        rules(type="restrict-ips", config={"allow": ["10.0.0.0/8"]}),
        composed(rules(), ranges=["10.0.0.0/8"], terminate=True, forward="tcp://x.internal:80"),
    ):
        parse_policy(policy)
        check(policy, capabilities.policy_refusal)


def test_a_policy_that_waits_for_its_check_says_so_and_is_reconciled_when_there_is_time() -> None:
    """docs/spec/loadbalancer/trafficpolicy.md, 6."""

    def postponed(_namespace: str, _policy: str) -> str:
        raise CheckPostponed("not checked yet", 12.0)

    policy = NgrokTrafficPolicy(
        metadata=ObjectMeta(namespace="tenant-a", name="p"), spec=NgrokTrafficPolicySpec(policy=rules())
    )
    view = View({}, now=100.0)
    seen = observe(postponed, view, policy, Results())
    assert view.requeue_at == 112.0
    assert seen is not None
    valid, ready = judge(seen, Answers({}, {})).conditions or ()
    assert (valid.status, valid.reason, valid.message) == ("Unknown", "Pending", "not checked yet")
    assert ready.status == "Unknown"


def test_that_an_edge_refused_a_policy_is_known_by_the_code_of_its_error() -> None:
    with pytest.raises(Refusal) as refusal:
        parse_policy(rules(type="rate-limit"))
    assert is_policy_error(refusal.value.name)
    assert [is_policy_error(code) for code in ("ERR_NGROK_2200", "ERR_NGROK_2267", "ERR_NGROK_334", "")] == [
        True,
        True,
        False,
        False,
    ]
