"""Traffic policies: checked phase by phase, and combined so that each of them must allow."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable, Mapping
from typing import Any

from seamark_edge.model import CheckPostponed, PolicyRefusal, nothing_known
from seamark_runtime.untrusted.decoding import Malformed, decode_plain_json

PHASES = ("on_tcp_connect", "on_http_request", "on_http_response")
LEGACY = ("inbound", "outbound", "enabled")
LARGEST = 64 * 1024

Policy = Mapping[str, Any]


class BadPolicy(ValueError):
    """What is wrong with a policy, with the path to it. `legacy`: it is in the form of before the phases."""

    def __init__(self, message: str, *, legacy: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.legacy = legacy


class UncheckedPolicy(BadPolicy):
    """Nothing is known against the policy, nor for it. `after`: the seconds until it can be checked."""

    def __init__(self, message: str, after: float) -> None:
        super().__init__(message)
        self.after = after


def check(policy: Any, refusal: PolicyRefusal = nothing_known, namespace: str = "") -> None:
    """Raises BadPolicy for what no edge accepts, and for what the edge behind refuses as far as `refusal` knows it."""
    _mapping(policy, "policy")
    try:
        size = len(json.dumps(policy))
    except (RecursionError, ValueError, TypeError):
        raise BadPolicy("policy is nested too deep") from None
    if size > LARGEST:
        raise BadPolicy(f"policy has {size} characters: at most {LARGEST} are taken")
    for phase, rules in policy.items():
        if phase in LEGACY:
            message = f"policy.{phase} is of the format before phases: use {', '.join(PHASES)}"
            raise BadPolicy(message, legacy=True)
        if phase not in PHASES:
            raise BadPolicy(f"policy.{str(phase)[:100]} is no phase: {', '.join(PHASES)} are")
        for number, rule in enumerate(_list(rules, f"policy.{phase}")):
            _rule(rule, f"policy.{phase}[{number}]")
    try:
        message = refusal(namespace, text(policy))
    except CheckPostponed as postponed:
        raise UncheckedPolicy(postponed.message, postponed.after) from None
    if message:
        raise BadPolicy(message)


def _rule(rule: Any, where: str) -> None:
    _mapping(rule, where)
    if unknown := sorted(set(rule) - {"name", "expressions", "actions"}):
        raise BadPolicy(f"{where}.{unknown[0][:100]} is no field of a rule: name, expressions and actions are")
    if not isinstance(rule.get("name", ""), str):
        raise BadPolicy(f"{where}.name is no text")
    for number, expression in enumerate(_list(rule.get("expressions", []), f"{where}.expressions")):
        if not isinstance(expression, str) or not expression.strip():
            raise BadPolicy(f"{where}.expressions[{number}] is no expression")
    actions = _list(rule.get("actions"), f"{where}.actions")
    if not actions:
        raise BadPolicy(f"{where}.actions is empty: a rule does something")
    for number, action in enumerate(actions):
        _action(action, f"{where}.actions[{number}]")


def _action(action: Any, where: str) -> None:
    _mapping(action, where)
    if unknown := sorted(set(action) - {"type", "config"}):
        raise BadPolicy(f"{where}.{unknown[0][:100]} is no field of an action: type and config are")
    if not isinstance(action.get("type"), str) or not action["type"]:
        raise BadPolicy(f"{where}.type is missing")
    if action.get("config") is not None:
        _mapping(action["config"], f"{where}.config")


def _mapping(value: Any, where: str) -> None:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise BadPolicy(f"{where} is no mapping")


def _list(value: Any, where: str) -> list[Any] | tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise BadPolicy(f"{where} is no list")
    return value


# ---- put together


def composed(
    users: Policy | None, *, ranges: Iterable[str] = (), terminate: bool = False, forward: str = ""
) -> dict[str, Any]:
    """One policy of the settings of a Service and the policy of its user: both must allow.

    - Source ranges come first. TLS ends here if asked to, unless the user's policy ends it in a way of its own.
    - A user's rules follow, in their order; where connections go on to comes last.
    """
    users = users or {}
    allowed = sorted(ranges)
    before: list[Any] = []
    if allowed:
        before.append({"actions": [_act("restrict-ips", {"enforce": True, "allow": allowed})]})
    if terminate and not _has(users, "terminate-tls"):
        before.append({"actions": [_act("terminate-tls", {})]})
    after = [{"actions": [_act("forward-internal", {"url": forward})]}] if forward else []
    connect = [*before, *users.get("on_tcp_connect", ()), *after]
    rest = {phase: rules for phase, rules in users.items() if phase != "on_tcp_connect"}
    return {**({"on_tcp_connect": connect} if connect else {}), **rest}


def forwards(policy: Policy | None) -> bool:
    """Whether connections go on to another endpoint."""
    phases = [rules for rules in (policy or {}).values() if isinstance(rules, list | tuple)]
    rules = [rule for phase in phases for rule in phase if isinstance(rule, Mapping)]
    actions = [action for rule in rules for action in rule.get("actions") or () if isinstance(action, Mapping)]
    return any(action.get("type") == "forward-internal" for action in actions)


def bad_ranges(ranges: Iterable[str]) -> list[str]:
    """Those that are no CIDR."""
    return [text for text in ranges if not _is_network(text)]


def text(policy: Policy | None) -> str:
    """The policy as sent to an edge; the same policy is always the same text."""
    return json.dumps(policy, sort_keys=True) if policy else ""


def same(text: str, other: str) -> bool:
    """Whether two texts are one policy."""
    try:
        return bool(decode_plain_json(text or "{}") == decode_plain_json(other or "{}"))
    except Malformed:
        return text == other


def _act(kind: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "config": config}


def _has(policy: Policy, kind: str) -> bool:
    rules = policy.get("on_tcp_connect", ())
    return any(action.get("type") == kind for rule in rules for action in rule.get("actions", ()))


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text.strip(), strict=False)
    except ValueError:
        return False
    return True
