"""Expressions: values, macros, Kubernetes' functions, and error messages."""

from __future__ import annotations

from typing import Any

import pytest

from seamark_cluster.embedded.cel import CelError, SyntaxProblem, compile_expression
from tests.unit.cluster.embedded.conftest import MERGE, Cluster, Json, definition

SELF: Json = {
    "name": "web",
    "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 443}],
    "labels": {"app": "x", "my-label": "y"},
    "size": 3,
    "ratio": 1.5,
    "none": None,
}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", 7),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("'a' + 'b'", "ab"),
        ("[1, 2] + [3]", [1, 2, 3]),
        ("self.size > 2 ? 'big' : 'small'", "big"),
        ("has(self.name) && !has(self.missing)", True),
        ("self.missing == 1 || true", True),
        ("self.ports.all(p, p.port > 0)", True),
        ("self.ports.exists(p, p.port == 443)", True),
        ("self.ports.exists_one(p, p.name == 'a')", True),
        ("self.ports.map(p, p.port)", [80, 443]),
        ("self.ports.filter(p, p.port > 100).size()", 1),
        ("'app' in self.labels", True),
        ("self.labels['my-label']", "y"),
        ("self.labels.my__dash__label", "y"),
        ("size(self.name) == 3 && self.name.startsWith('w')", True),
        ("self.name.matches('^w.b$')", True),
        ("'a,b'.split(',')", ["a", "b"]),
        ("['a', 'b'].join('-')", "a-b"),
        ("'hello'.substring(1, 3)", "el"),
        ("'x=%s n=%d'.format(['a', 3])", "x=a n=3"),
        ("[3, 1, 2].max()", 3),
        ("[1, 2].sum()", 3),
        ("[1, 2, 2].isSorted()", True),
        ("string(5) + string(true)", "5true"),
        ("int('42') + int(1.9)", 43),
        ("type(1) == int && type('') == string", True),
        ("duration('1h') > duration('59m')", True),
        ("timestamp('2026-01-01T00:00:00Z').getFullYear()", 2026),
        ("timestamp('2026-01-02T00:00:00Z') - timestamp('2026-01-01T00:00:00Z') == duration('24h')", True),
        (
            "isURL('https://a.example.com:80/x') && url('https://a.example.com:80/x').getHostname() == 'a.example.com'",
            True,
        ),
        ("quantity('1Gi').isGreaterThan(quantity('1G'))", True),
        ("isIP('10.0.0.1') && ip('10.0.0.1').family() == 4", True),
        ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", True),
        ("semver('1.2.3').isLessThan(semver('1.10.0'))", True),
        ("format.dns1123Label().validate('Not_A_Label').hasValue()", True),
        ("self.?missing.orValue('default')", "default"),
        ("cel.bind(n, self.size * 2, n + n)", 12),
        ("self.none == null", True),
        ("1 == 1.0 && true != 1", True),
        ("sets.contains([1, 2, 3], [2])", True),
    ],
)
def test_an_expression_has_its_value(expression: str, value: Any) -> None:
    assert compile_expression(expression)({"self": SELF}) == value


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ("self.missing", "no such key: missing"),
        ("self.ports[7]", "index out of bounds: 7"),
        ("1 / 0", "division by zero"),
        ("9223372036854775807 + 1", "integer overflow"),
        ("1 + 'a'", "no such overload"),
        ("self.ports.all(p, p.nope)", "no such key: nope"),
    ],
)
def test_an_evaluation_error_has_a_reason(expression: str, error: str) -> None:
    with pytest.raises(CelError, match=error):
        compile_expression(expression)({"self": SELF})


@pytest.mark.parametrize("expression", ["1 +", "self.", "(1", "'open", "nonsense(1)", "a b"])
def test_what_is_no_expression_is_refused(expression: str) -> None:
    with pytest.raises(SyntaxProblem):
        compile_expression(expression)


def ruled(rules: list[Json], **properties: Json) -> Json:
    spec = {"type": "object", "properties": properties, "x-kubernetes-validations": rules}
    return definition({"type": "object", "properties": {"spec": spec}}, "rules", "Rule")


RULES = "/apis/example.com/v1/namespaces/default/rules"


def rule(**spec: Any) -> Json:
    return {"apiVersion": "example.com/v1", "kind": "Rule", "metadata": {"name": "r"}, "spec": spec}


def test_a_transition_rule_applies_only_to_changes(cluster: Cluster) -> None:
    properties = {"size": {"type": "integer"}}
    cluster.store.create(ruled([{"rule": "self.size >= oldSelf.size", "message": "it only grows"}], **properties))
    cluster.ok("POST", RULES, rule(size=3))
    refusal = cluster.refused(422, "PATCH", f"{RULES}/r", {"spec": {"size": 2}}, MERGE)
    assert refusal["details"]["causes"][0]["message"] == "Invalid value: it only grows"
    cluster.ok("PATCH", f"{RULES}/r", {"spec": {"size": 4}}, MERGE)


def test_a_rule_that_fails_to_run_refuses_with_the_reason(cluster: Cluster) -> None:
    cluster.store.create(ruled([{"rule": "self.size > 1"}], size={"type": "integer"}))
    refusal = cluster.refused(422, "POST", RULES, rule())
    assert "no such key: size evaluating rule: self.size > 1" in refusal["message"]


def test_times_are_times_in_a_rule(cluster: Cluster) -> None:
    when = {"type": "string", "format": "date-time"}
    cluster.store.create(ruled([{"rule": "self.since < self.until"}], since=when, until=when))
    later, sooner = "2026-01-02T00:00:00Z", "2026-01-01T23:00:00-02:00"
    cluster.refused(422, "POST", RULES, rule(since=sooner, until=later))
    cluster.ok("POST", RULES, rule(since=later, until=sooner))
