"""Traffic policies: refused when they are set, or carried out in full."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.policy import Client, Decision, Ranges, network
from seamark_edge.edge.policy_document import parse_policy
from seamark_edge.wire.expressions import CONNECTION

HERE = Client("192.0.2.7", 1234, 443)
NOBODY = Ranges()


def judged(text: str, client: Client = HERE, **policies: Ranges) -> Decision:
    return parse_policy(text).judge(client, lambda name: policies.get(name, NOBODY))


def rule(*actions: str, expressions: str = "") -> str:
    condition = f"    expressions: [{expressions}]\n" if expressions else ""
    return "on_tcp_connect:\n  - actions:\n" + "".join(f"      - {action}\n" for action in actions) + condition


def test_no_policy_lets_everybody_through() -> None:
    assert judged("") == judged("{}") == Decision()


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


FAILING = "\"inCidrRange(conn.tls.sni, '10.0.0.0/8')\""  # the server name is no address


def test_where_an_expression_fails_a_rule_that_restricts_denies_and_another_does_not_apply() -> None:
    assert judged(rule("type: deny", expressions=FAILING)).denied
    assert judged(rule("{type: restrict-ips, config: {allow: [0.0.0.0/0]}}", expressions=FAILING)).denied
    forward = "{type: forward-internal, config: {url: 'tcp://db.internal:5432'}}"
    assert judged(rule(forward, expressions=FAILING)) == Decision()
    assert not judged(rule("type: deny", expressions=f"{FAILING}, 'conn.client_port == 0'")).denied


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("conn.geo.country_code != 'DE'", "'conn' has no field 'geo'"),
        ("conn.client_ipp == '192.0.2.7'", "'conn' has no field 'client_ipp'"),
        ("conn['client_ipp'] == '192.0.2.7'", "'conn' has no field 'client_ipp'"),
        ("conn.tls.version == 1", "'conn.tls' has no field 'version'"),
        ("conn.client_ip.x == 1", "'conn.client_ip' is no object"),
        ("foo != 'x'", "the name 'foo' is not known here: conn are"),
        ("!(req.method == 'GET')", "the name 'req' is not known"),
        ("[1].exists(x, y == x)", "the name 'y' is not known"),
        ("cel.bind(c, conn, c.nothing == 1)", "'c' has no field 'nothing'"),
        ("size(foo) > 1", "the name 'foo' is not known"),
        ("foo.startsWith('x')", "the name 'foo' is not known"),
        ("'true'", "neither true nor false"),
        ("1", "neither true nor false"),
        ("null", "neither true nor false"),
        ("conn", "neither true nor false"),
        ("conn.client_ip", "neither true nor false"),
        ("[true]", "neither true nor false"),
        ("conn.client_port + 1", "neither true nor false"),
        ("true ? 'a' : 'b'", "neither true nor false"),
        ("[1].map(x, true)", "neither true nor false"),
    ],
)
def test_a_condition_with_unknown_names_or_another_result_is_refused(expression: str, reason: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_policy(document({**DENY, "expressions": ["true", expression]}))
    assert "on_tcp_connect[0].expressions[1]" in caught.value.message
    assert reason in caught.value.message


@pytest.mark.parametrize(
    "expression",
    [
        "conn.client_ip == '192.0.2.7' && conn.client_port > 0 && conn.server_port >= 0 && conn.tls.sni != 'x'",
        "conn['client_ip'].startsWith('192')",
        "!has(conn.geo)",
        "conn.?geo.orValue('x') == 'x'",
        "['192.0.2.7'].exists(ip, ip == conn.client_ip)",
        "cel.bind(c, conn, c.client_ip == '192.0.2.7')",
        "math.greatest(conn.client_port, 0) >= 0",
        "type(conn.client_ip) == string",
        "conn.client_ip == 'x' ? false : true",
        "true",
    ],
)
def test_a_condition_on_the_names_of_the_guide_is_taken_and_holds(expression: str) -> None:
    assert parse_policy(document({**DENY, "expressions": [expression]})).judge(HERE, lambda _: NOBODY).denied


def test_the_declared_names_are_those_that_a_connection_has() -> None:
    def shape(value: object) -> object:
        return {name: shape(item) for name, item in value.items()} if isinstance(value, dict) else type(value)

    assert shape(HERE.names) == CONNECTION


def test_forwards_go_to_internal_endpoints_only() -> None:
    text = rule("{type: forward-internal, config: {url: 'tcp://db.internal:5432'}}")
    assert judged(text) == Decision(forward="tcp://db.internal:5432")
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
        ("#" * 70000, "70000 bytes, 65536 are allowed"),
    ],
)
def test_what_cant_be_done_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_policy(text)
    assert words in caught.value.message


def test_aliases_count_as_what_they_stand_for() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(12)
    )
    with pytest.raises(Refusal, match="more than 2000 values, aliases expanded"):
        parse_policy(bomb)


def test_a_range_list_that_aliases_multiply_is_refused_before_it_is_read() -> None:
    lists = "\n".join(f"    - &l{n} [{', '.join([f'*l{n - 1}'] * 40)}]" for n in range(1, 6))
    text = f"on_tcp_connect:\n  - actions:\n    - &l0 [192.0.2.0/24]\n{lists}\n"
    assert len(text) < 1500
    with pytest.raises(Refusal, match="more than 2000 values"):
        parse_policy(text)


@pytest.mark.parametrize("given", ['{"on_tcp_connect": ' + "[" * 40 + "]" * 40 + "}", "on_tcp_connect: " + "[" * 40])
def test_a_document_that_is_too_deep_is_refused(given: str) -> None:
    with pytest.raises(Refusal, match="more than 16 levels"):
        parse_policy(given)


def test_an_object_takes_the_same_path_as_a_text() -> None:
    deny = {"on_tcp_connect": [{"actions": [{"type": "deny"}]}]}
    assert parse_policy(deny).judge(HERE, lambda _: NOBODY).denied
    nested: object = "x"
    for _ in range(2000):
        nested = [nested]
    for bad in ({"on_tcp_connect": nested}, {"on_tcp_connect": {1: object()}}, 7, {"on_tcp_connect": "x" * 70000}):
        with pytest.raises(Refusal, match="can't be used"):
            parse_policy(bad)


def document(*rules: dict[str, object]) -> dict[str, object]:
    return {"on_tcp_connect": list(rules)}


def acting(kind: str, **config: object) -> dict[str, object]:
    return {"actions": [{"type": kind, "config": config}]}


DENY: dict[str, object] = {"actions": [{"type": "deny"}]}
CHEAP, DEAR = "conn.client_ip == '192.0.2.7'", f"{list(range(40))}.all(x, {list(range(40))}.all(y, x + y >= 0))"


@pytest.mark.parametrize(
    ("given", "path", "limit"),
    [
        (document(*[DENY] * 101), "on_tcp_connect[100]", "more than 100 rules"),
        (document({"actions": [{"type": "deny"}] * 21}), "on_tcp_connect[0].actions", "at most 20"),
        (document(DENY, {**DENY, "name": "x" * 256}), "on_tcp_connect[1].name", "at most 255"),
        (document({**DENY, "name": 7}), "on_tcp_connect[0].name", "is no text"),
        (document({**DENY, "expressions": [CHEAP] * 101}), "on_tcp_connect[0].expressions[100]", "more than 100"),
        (document({**DENY, "expressions": [f"'{'x' * 4000}' == ''"] * 3}), "[0].expressions[2]", "8192 characters"),
        (document({**DENY, "expressions": [DEAR]}), "on_tcp_connect[0].expressions[0]", "at most 10000"),
        (document({**DENY, "expressions": ["x" * 5000]}), "expressions[0]", "at most 4096"),
        (document({**DENY, "expressions": [True]}), "on_tcp_connect[0].expressions[0]", "is no text"),
        (document(acting("restrict-ips", allow=["10.0.0.0/8"] * 1001)), "actions[0].config.allow", "1000 CIDRs"),
        (document(acting("restrict-ips", deny=["10.0.0.0/8", 7])), "actions[0].config.deny[1]", "is a text"),
        (document(acting("restrict-ips", ip_policies=["x"] * 33)), "actions[0].config", "32 IP policies"),
        (document(acting("restrict-ips", ip_policies=[1])), "actions[0].config.ip_policies[0]", "is no text"),
        (document(acting("restrict-ips", enforce="no")), "actions[0].config.enforce", "neither true nor false"),
        (document(acting("restrict-ips", allowed=[])), "actions[0].config", "unknown fields 'allowed'"),
        (document(acting("forward-internal", url="gopher://x.internal")), "actions[0].config.url", "scheme"),
        (document(acting("forward-internal", url=["x"])), "actions[0].config.url", "is no text"),
        (document(acting("terminate-tls"), acting("terminate-tls")), "on_tcp_connect[1]", "can't end twice"),
        (document({"actions": [{"type": "x" * 9000}]}), "on_tcp_connect[0].actions[0]", "..."),
        ({"on_tcp_connect" * 3000: []}, "...", "is no phase"),
    ],
)
def test_a_refusal_names_the_path_and_the_limit(given: dict[str, object], path: str, limit: str) -> None:
    with pytest.raises(Refusal) as caught:
        parse_policy(given)
    assert path in caught.value.message
    assert limit in caught.value.message
    assert len(caught.value.message) < 500


def test_the_cost_of_all_expressions_is_limited_together() -> None:
    loop = f"{list(range(20))}.all(x, {list(range(20))}.all(y, x + y >= 0))"
    assert parse_policy(document({**DENY, "expressions": [loop]}))
    with pytest.raises(Refusal, match=r"on_tcp_connect\[1\]\.expressions\[1\]: .* cost more than 10000 steps together"):
        parse_policy(document({**DENY, "expressions": [loop, loop]}, {**DENY, "expressions": [loop, loop]}))


@pytest.mark.parametrize("dot", [".", ". ", ".//\n", ".// map\n\t"])
def test_a_loop_is_a_loop_however_it_is_written(dot: str) -> None:
    ten = "[0,1,2,3,4,5,6,7,8,9]"
    source = "true"
    for level in range(5):
        source = f"{ten}{dot}all(x{level}, {source})"
    with pytest.raises(Refusal, match=r"expressions\[0\]: .* estimated cost of \d+ steps: at most 10000"):
        parse_policy(document({**DENY, "expressions": [source]}))


def test_a_connection_whose_policies_exceed_its_budget_is_denied() -> None:
    allowed = parse_policy(document({"actions": [{"type": "deny"}], "expressions": ["conn.client_port == 7"]}))
    loop = f"{list(range(30))}.exists(x, {list(range(30))}.exists(y, x + y > 100))"
    dear = parse_policy(document({**DENY, "expressions": [loop]}))
    client = Client("192.0.2.7", 1)
    verdicts = [dear.judge(client, lambda _: NOBODY).denied for _ in range(12)]
    assert verdicts == sorted(verdicts)
    assert verdicts[0] is False
    assert verdicts[-1] is True
    assert allowed.judge(client, lambda _: NOBODY).denied
    assert not allowed.judge(Client("192.0.2.7", 1), lambda _: NOBODY).denied


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


@pytest.mark.parametrize(
    "text",
    [
        "on_tcp_connect: [{actions: [{type: deny}]}]\non_tcp_connect: []",
        "on_tcp_connect: [{actions: [{type: deny}], expressions: ['true'], expressions: ['false']}]",
        '{"on_tcp_connect": [{"actions": [{"type": "deny"}]}], "on_tcp_connect": []}',
        '{"on_tcp_connect": [{"actions": [{"type": "deny", "type": "restrict-ips"}]}]}',
    ],
)
def test_a_key_that_is_there_twice_is_refused(text: str) -> None:
    with pytest.raises(Refusal, match="is there twice"):
        parse_policy(text)


@pytest.mark.parametrize("character", ["\t", "\n", "\r", "\x00", "\x7f"])
def test_a_forward_to_a_url_with_control_characters_is_refused(character: str) -> None:
    with pytest.raises(Refusal, match="control characters"):
        parse_policy(document(acting("forward-internal", url=f"tcp://db{character}.internal:1")))
