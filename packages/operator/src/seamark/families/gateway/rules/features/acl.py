"""`acl`: access by the address of the client, by the longest of the ranges that have it."""

from __future__ import annotations

from ipaddress import ip_network

from seamark.api.trafficfilters import Acl
from seamark.families.gateway.rules.features.references import References
from seamark.families.gateway.rules.features.values import most
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported
from seamark_edge.dataplane import filters
from seamark_runtime.untrusted.patterns import Pattern

MOST_RULES, MOST_RANGES = 256, 256
ACTIONS = ("allow", "deny")
RANGE = Pattern(r"[0-9a-fA-F:.]{2,45}(?:/[0-9]{1,3})?")


def read(field: str, given: Acl, _references: References) -> filters.Acl:
    default = limits.one_of(f"{field}.defaultAction", given.default_action, ACTIONS)
    ranges: dict[str, bool] = {}
    for number, rule in enumerate(most(f"{field}.rules", given.rules, MOST_RULES)):
        where = f"{field}.rules[{number}]"
        action = limits.one_of(f"{where}.action", rule.action, ACTIONS)
        if not rule.cidrs:
            raise Unsupported(f"{where}.cidrs: at least one is required")
        for position, text in enumerate(most(f"{where}.cidrs", rule.cidrs, MOST_RANGES)):
            network = _range(f"{where}.cidrs[{position}]", text)
            if ranges.setdefault(network, action == "allow") != (action == "allow"):
                raise Unsupported(f"{where}.cidrs[{position}]: {network} is allowed and denied")
    limits.at_most(f"{field}.rules: ranges", ranges, MOST_RANGES)
    return filters.Acl(default == "allow", tuple(sorted(ranges.items())))


def _range(field: str, text: str) -> str:
    try:
        if RANGE.fullmatch(text) is None:
            raise ValueError
        return str(ip_network(text))
    except ValueError:
        rule = "write it as in 10.0.0.0/8, without bits beyond the prefix"
        raise Unsupported(f"{field}: {limits.shown(text)} is no range of addresses; {rule}") from None
