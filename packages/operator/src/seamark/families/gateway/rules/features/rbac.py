"""`rbac`: conditions over a request that let it through, or keep it out."""

from __future__ import annotations

from seamark.api.trafficfilters import Rbac
from seamark.families.gateway.rules.features.references import References
from seamark.families.gateway.rules.features.values import most
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported
from seamark_edge.dataplane import filters
from seamark_edge.dataplane.conditions import condition
from seamark_runtime.cel import SyntaxProblem

MOST_EXPRESSIONS, MOST_TEXT = 256, 16 * 1024  # characters of all expressions together
ACTIONS = ("Allow", "Deny")


def read(field: str, given: Rbac, _references: References) -> filters.Rbac:
    action = limits.one_of(f"{field}.action", given.action, ACTIONS)
    where = f"{field}.policy.matchExpressions"
    if given.policy is None or not given.policy.match_expressions:
        raise Unsupported(f"{where} is required")
    expressions = most(where, given.policy.match_expressions, MOST_EXPRESSIONS)
    if sum(map(len, expressions)) > MOST_TEXT:
        raise Unsupported(f"{where}: at most {MOST_TEXT} characters are evaluated together")
    for number, text in enumerate(expressions):
        check(f"{where}[{number}]", text)
    return filters.Rbac(action == "Allow", expressions)


def check(field: str, text: str) -> None:
    try:
        condition(text)
    except SyntaxProblem as error:
        shown = str(error).encode("unicode_escape").decode()[:150]
        raise Unsupported(f"{field}: {limits.shown(text)} can't be evaluated: {shown}") from None
