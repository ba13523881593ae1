"""Each rule catches what it is there for, and lets honest histories pass."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.status_rules import NEVER, RULES, check, kstatus

BORN, LATER, LATEST = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "2026-01-01T00:00:09Z"
OURS = ("Lit", "Ready")


def condition(type_: str, status: str = "True", **more: Any) -> dict[str, Any]:
    made = {
        "type": type_,
        "status": status,
        "reason": "Because",
        "message": "words",
        "lastTransitionTime": LATER,
        "observedGeneration": 1,
        **more,
    }
    return {key: value for key, value in made.items() if value is not None}


def state(*conditions: dict[str, Any], generation: int = 1, observed: int | None = 1, **status: Any) -> dict[str, Any]:
    said: dict[str, Any] = {"conditions": list(conditions), **status}
    if observed is not None:
        said["observedGeneration"] = observed
    metadata = {"name": "a", "uid": "u1", "resourceVersion": "7", "generation": generation, "creationTimestamp": BORN}
    return {"metadata": metadata, "status": said}


def first(type_: str) -> dict[str, Any]:
    return condition(type_, "Unknown", reason="Pending", lastTransitionTime=NEVER, observedGeneration=None)


BIRTH = state(first("Lit"), first("Ready"), observed=None)
GOOD = state(condition("Lit"), condition("Ready"))
BAD = state(
    condition("Lit", "False", lastTransitionTime=LATEST), condition("Ready", "False", lastTransitionTime=LATEST)
)


def told(*messages: str) -> list[dict[str, Any]]:
    """Two conditions that fail for the same reason, with these messages one after the other."""
    return [state(*(condition(name, "False", message=message) for name in OURS)) for message in messages]


def entry(parent: str, *conditions: dict[str, Any]) -> dict[str, Any]:
    return {"parentRef": {"name": parent}, "controllerName": "us", "conditions": list(conditions)}


VIOLATIONS: list[tuple[int, str, list[dict[str, Any]]]] = [
    (1, "a condition without a message", [state(condition("Ready", message=None))]),
    (1, "a condition without a time", [state(condition("Ready", lastTransitionTime=None))]),
    (2, "a type that is no name", [state(condition("not a name"), condition("Ready"))]),
    (2, "a type that is too long", [state(condition("x" * 317), condition("Ready"))]),
    (3, "a fourth status", [state(condition("Ready", "Maybe"))]),
    (4, "an empty reason", [state(condition("Ready", reason=""))]),
    (4, "a reason of two words", [state(condition("Ready", reason="Not Ready"))]),
    (4, "a reason that is too long", [state(condition("Ready", reason="x" * 1025))]),
    (5, "a message that is too long", [state(condition("Ready", message="x" * 32769))]),
    (5, "a failure without words", [state(condition("Ready", "False", message=""))]),
    (6, "the same type twice", [state(condition("Ready"), condition("Ready"))]),
    (6, "the same type twice in an entry", [state(parents=[entry("g", condition("Ok"), condition("Ok"))])]),
    (7, "a phase", [state(condition("Ready"), phase="Running")]),
    (8, "a time with fractions", [state(condition("Ready", lastTransitionTime="2026-01-01T00:00:01.5Z"))]),
    (8, "no time at all", [state(condition("Ready", lastTransitionTime=""))]),
    (9, "a time rewritten in each pass", [GOOD, state(*(condition(c, lastTransitionTime=LATEST) for c in OURS))]),
    (9, "the same in an entry", [
        state(parents=[entry("g", condition("Ok")), entry("h", condition("Ok"))]),
        state(parents=[entry("h", condition("Ok", lastTransitionTime=LATEST)), entry("g", condition("Ok"))]),
    ]),
    (10, "a time that goes back", [BAD, GOOD]),
    (11, "a status of a namesake", [state(condition("Ready", lastTransitionTime="2025-12-31T23:59:59Z"))]),
    (12, "a condition without a generation", [state(condition("Ready", observedGeneration=None))]),
    (13, "a generation that is not there yet", [state(condition("Ready", observedGeneration=2))]),
    (13, "the same on the status", [state(condition("Ready"), observed=2)]),
    (14, "a generation that goes back", [
        state(condition("Ready", observedGeneration=2), generation=2, observed=2),
        state(condition("Ready"), generation=2, observed=2),
    ]),
    (15, "a condition left behind", [
        state(condition("Lit"), condition("Ready"), generation=2),
        state(condition("Lit"), condition("Ready", observedGeneration=2), generation=2, observed=2),
    ]),
    (16, "a truth about the past", [
        state(condition("Ready", "False"), generation=2),
        state(condition("Ready", lastTransitionTime=LATEST), generation=2),
    ]),
    (17, "a new object without any status", [{"metadata": {"name": "a", "generation": 1}}]),
    (18, "Current by an old generation", [state(condition("Ready"), generation=2, observed=None)]),
    (19, "ready while a part is not", [state(condition("Lit", "False"), condition("Ready"))]),
    (19, "ready while stalled", [state(condition("Stalled"), condition("Ready"))]),
    (20, "reconciling and stalled", [state(condition("Stalled"), condition("Reconciling"))]),
    (21, "a condition that vanishes", [GOOD, state(condition("Ready"))]),
    (23, "an elapsed time", told("no answer for 12 s", "no answer for 22 s")),
    (23, "a duration with its unit", told("retried in 1m30s", "retried in 2m")),
    (23, "a remaining lease", told("owned for 59.5 more seconds", "owned for 49 more seconds")),
    (23, "a counter", told("attempt 3 failed", "attempt 4 failed")),
    (23, "a count in brackets", told("refused (3 times)", "refused (11 times)")),
]  # fmt: skip


@pytest.mark.parametrize(("number", "history"), [pytest.param(n, h, id=f"{n} {words}") for n, words, h in VIOLATIONS])
def test_a_violation_is_caught_by_its_rule(number: int, history: list[dict[str, Any]]) -> None:
    assert number in {violation.rule for violation in check(history)}


def test_a_missing_condition_is_caught_where_it_is_known_what_should_be_there() -> None:
    (violation,) = check([state(condition("Ready"))], ours=OURS)
    assert violation.rule == 22
    assert str(violation) == "rule 22 at version 7: Lit is missing"


HONEST: dict[str, list[dict[str, Any]]] = {
    "from birth to ready": [BIRTH, GOOD],
    "from ready to broken": [BIRTH, GOOD, BAD],
    "a new generation, not looked at yet": [GOOD, {**GOOD, "metadata": {**GOOD["metadata"], "generation": 2}}],
    "a new generation, looked at": [
        {**GOOD, "metadata": {**GOOD["metadata"], "generation": 2}},
        state(*(condition(name, observedGeneration=2) for name in OURS), generation=2, observed=2),
    ],
    "other words for the same": [GOOD, state(condition("Lit", message="others"), condition("Ready"))],
    "another port": told("port 80 refuses", "port 81 refuses"),
    "another address": told("10.0.0.1 refuses", "10.0.0.2 refuses"),
    "another name": told("web-1 refuses", "web-2 refuses"),
    "another time since when": told("no response since 2026-01-01T00:00:00Z", "no response since 2026-01-01T00:05:00Z"),
    "other words and a number": told("no answer for 12 s", "refused after 13 s"),
    "an object deleted and made again": [
        BAD,
        {**GOOD, "metadata": {**GOOD["metadata"], "uid": "u2"}},
    ],
    "entries that change their places": [
        state(condition("Lit"), condition("Ready"), parents=[entry("g", condition("Ok")), entry("h", condition("Ok"))]),
        state(condition("Lit"), condition("Ready"), parents=[entry("h", condition("Ok")), entry("g", condition("Ok"))]),
    ],
}


@pytest.mark.parametrize("history", HONEST.values(), ids=HONEST)
def test_an_honest_history_breaks_no_rule(history: list[dict[str, Any]]) -> None:
    assert check(history, ours=OURS) == []


def test_each_of_two_writers_speaks_of_the_generation_that_it_has_looked_at() -> None:
    def owned(fields: dict[str, Any], *types: str) -> dict[str, Any]:
        return {"fieldsV1": {"f:status": {"f:conditions": {f'k:{{"type":"{name}"}}': {} for name in types}, **fields}}}

    before = state(condition("Lit"), condition("Ready"), generation=2)
    after = state(condition("Lit"), condition("Ready", observedGeneration=2), generation=2, observed=2)
    for other, broken in (("Lit", False), ("Else", True)):
        mine = {"Ready", "Lit"} - {other}
        fields = [owned({"f:observedGeneration": {}}, *mine), owned({}, other)]
        history = [{**one, "metadata": {**one["metadata"], "managedFields": fields}} for one in (before, after)]
        assert (15 in {violation.rule for violation in check(history)}) is broken


def test_conditions_of_others_are_their_own_business() -> None:
    foreign = {"type": "Foreign", "status": "Perhaps"}
    assert check([state(condition("Lit"), condition("Ready"), foreign)], ours=OURS) == []


@pytest.mark.parametrize(
    ("obj", "verdict"),
    [
        ({"metadata": {}}, "Current"),
        (GOOD, "Current"),
        (BIRTH, "InProgress"),
        (BAD, "InProgress"),
        ({**GOOD, "metadata": {**GOOD["metadata"], "generation": 2}}, "InProgress"),
        ({**GOOD, "metadata": {**GOOD["metadata"], "deletionTimestamp": LATEST}}, "Terminating"),
        (state(condition("Stalled"), condition("Ready", "False")), "Failed"),
        (state(condition("Reconciling"), condition("Stalled"), condition("Ready")), "InProgress"),
    ],
)
def test_kstatus_is_judged_in_the_order_of_its_rules(obj: dict[str, Any], verdict: str) -> None:
    assert kstatus(obj) == verdict


def test_every_rule_is_shown_to_catch_something() -> None:
    assert {number for number, _, _ in VIOLATIONS} | {22} == set(RULES)


def test_the_page_lists_the_rules_by_number_in_the_same_words() -> None:
    page = (Path(__file__).parents[2] / "docs" / "spec" / "status-rules.md").read_text()
    listed = dict(re.findall(r"^\| (\d+) \| (.+?) \|", page, re.MULTILINE))
    assert listed == {str(number): words for number, (words, _) in RULES.items()}
