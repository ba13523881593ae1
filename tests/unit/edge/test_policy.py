"""Traffic policies: refused when they are set, or carried out in full."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamark.edge.errors import Refusal
from seamark.edge.policy import Client, Ranges, Verdict, network, parse_policy

HERE = Client("192.0.2.7", 1234, 443)
NOBODY = Ranges()


def judged(text: str, client: Client = HERE, **policies: Ranges) -> Verdict:
    return parse_policy(text).judge(client, lambda name: policies.get(name, NOBODY))


def rule(*actions: str, expressions: str = "") -> str:
    condition = f"    expressions: [{expressions}]\n" if expressions else ""
    return "on_tcp_connect:\n  - actions:\n" + "".join(f"      - {action}\n" for action in actions) + condition


def test_no_policy_lets_everybody_through() -> None:
    assert judged("") == judged("{}") == Verdict()


def test_deny_turns_everybody_away() -> None:
    assert judged(rule("type: deny")).denied


@pytest.mark.parametrize(
    ("config", "denied"),
    [
        ("{allow: [192.0.2.0/24]}", False),
        ("{allow: [198.51.100.0/24]}", True),
        ("{deny: [192.0.2.7]}", True),
        ("{allow: [192.0.2.0/24], deny: [192.0.2.7/32]}", True),
        ("{enforce: false, deny: [0.0.0.0/0]}", False),
        ("{allow: ['2001:db8::/32']}", True),
        ("{ip_policies: [office]}", False),
        ("{ip_policies: [deleted]}", True),
    ],
)
def test_source_ranges(config: str, denied: bool) -> None:
    office = Ranges(allow=(network("192.0.2.0/24"),))
    assert judged(rule(f"{{type: restrict-ips, config: {config}}}"), office=office).denied is denied


def test_an_ipv4_client_on_an_ipv6_socket_is_judged_as_ipv4() -> None:
    mapped = Client("::ffff:192.0.2.7", 1)
    assert not judged(rule("{type: restrict-ips, config: {allow: [192.0.2.0/24]}}"), mapped).denied


def test_a_rule_applies_only_if_its_expressions_hold() -> None:
    text = rule("type: deny", expressions="\"conn.client_ip == '192.0.2.7'\"")
    assert judged(text).denied
    assert not judged(text, Client("192.0.2.8", 1)).denied


def test_an_expression_that_fails_is_not_true() -> None:
    assert not judged(rule("type: deny", expressions="conn.nothing.here")).denied


def test_forwards_go_to_internal_endpoints_only() -> None:
    text = rule("{type: forward-internal, config: {url: 'tcp://db.internal:5432'}}")
    assert judged(text) == Verdict(forward="tcp://db.internal:5432")
    with pytest.raises(Refusal, match=r"does not end in \.internal"):
        parse_policy(rule("{type: forward-internal, config: {url: 'tcp://db.example.com:5432'}}"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("on_http_request:\n  - actions: [{type: oauth}]", "'oauth'"),
        ("on_tcp_connect:\n  - actions: [{type: brew-coffee}]", "'brew-coffee'"),
        (
            "on_tcp_connect:\n  - actions: [{type: terminate-tls, config: {mutual_tls_verification_strategy: x}}]",
            "mutual",
        ),
        ("inbound: []", "'inbound' is no phase"),
        ("on_tcp_connect: {}", "is no list"),
        ("on_tcp_connect: [{}]", "is no list"),
        ("on_tcp_connect: [{actions: []}]", "has no actions"),
        ("on_tcp_connect: [{actions: [{type: deny}], when: now}]", "when"),
        ("on_tcp_connect: [{actions: [{type: deny}], expressions: ['1 +']}]", "no CEL expression"),
        ("on_tcp_connect: [{actions: [{type: restrict-ips, config: {allow: [nowhere]}}]}]", "no CIDR"),
        ("just text", "is no mapping"),
        ("{", "neither JSON nor YAML"),
        ("a: [", "neither JSON nor YAML"),
        ("#" * 70000, "at most"),
    ],
)
def test_what_cant_be_done_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_policy(text)
    assert words in caught.value.message


def test_a_yaml_bomb_costs_nothing() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(12)
    )
    with pytest.raises(Refusal, match="is no phase"):
        parse_policy(bomb)


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_a_policy_or_a_refusal(text: str) -> None:
    try:
        parse_policy(text).judge(HERE, lambda _: NOBODY)
    except Refusal as refusal:
        told = refusal.message
    else:
        told = "carried out"
    assert told
