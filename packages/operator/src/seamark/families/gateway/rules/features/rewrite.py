"""`urlRewrite`: the path that the backend gets."""

from __future__ import annotations

from seamark.api.trafficfilters import UrlRewrite
from seamark.families.gateway.rules.features.values import required
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported
from seamark_edge.dataplane import model
from seamark_runtime.untrusted.patterns import Budget, Pattern

ESCAPED = Pattern(r"\\(.?)")
GROUPS = "0123456789"


def read(field: str, given: UrlRewrite) -> model.Rewrite:
    where = f"{field}.pathRegex"
    regex = required(where, given.path_regex)
    if not regex.pattern:
        raise Unsupported(f"{where}.pattern: must not be empty")
    groups = limits.pattern(f"{where}.pattern", regex.pattern, Budget()).groups
    substitution = limits.path(f"{where}.substitution", regex.substitution)
    for found in ESCAPED.finditer(substitution):
        number = GROUPS.find(found[1] or "x")
        if found[1] != "\\" and not 0 <= number <= groups:
            raise Unsupported(f"{where}.substitution: {limits.shown(found[0])} is no group of the pattern")
    return model.Rewrite(regex=(regex.pattern, substitution))
