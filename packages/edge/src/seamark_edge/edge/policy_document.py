"""Traffic policies as they are set: a YAML or JSON document within limits, checked as a whole.

- What this edge can't do is refused here, with the path to it: a policy is never half applied.
- Everything that costs time later is limited here: rules, actions, ranges, expressions and their cost.
- Certificates are parsed, tried with their key and loaded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.expressions import Conditions
from seamark_edge.edge.keypairs import BadPair, check_pair
from seamark_edge.edge.policy import EMPTY, Action, Network, Policy, Ranges, Rule, network
from seamark_edge.edge.urls import parse_url
from seamark_edge.wire.expressions import POLICY, ExpressionError
from seamark_runtime.untrusted.decoding import Limits, Malformed, decode_plain_json, decode_yaml

PHASES = ("on_tcp_connect", "on_http_request", "on_http_response")
DOCUMENT = Limits(size=64 * 1024, depth=16, nodes=2000, unique_keys=True)
MAX_RULES = 100  # of one policy
MAX_ACTIONS = 20  # of one rule
MAX_RANGES = 1000  # CIDRs of one policy
MAX_REFERENCES = 32  # IP policies that one policy refers to
MAX_NAME = 255  # characters

T = TypeVar("T")


def parse_policy(given: Any) -> Policy:
    """The policy in this text, or in this object of a JSON document; a refusal names what is wrong or not supported."""
    text = policy_text(given)
    if not text:
        return EMPTY
    try:
        document = decode_plain_json(text, DOCUMENT) if text.lstrip().startswith("{") else decode_yaml(text, DOCUMENT)
    except Malformed as error:
        raise _bad(f"it is neither JSON nor YAML within the limits: {error}") from None
    return _Reader().policy(text, document)


def policy_text(given: Any) -> str:
    """The document as a text; empty if there is none."""
    text = given if isinstance(given, str) else _encoded(given)
    return text if text.strip() else ""


def _encoded(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode() if value else ""
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        raise _bad(f"it is no JSON document ({error})") from None


class _Reader:
    """Reads one policy, and counts what the whole of it may have."""

    def __init__(self) -> None:
        self._conditions = Conditions(POLICY, "the policy")
        self._rules = self._ranges = self._references = 0
        self._terminates = ""  # the place of the action that ends TLS

    def policy(self, text: str, document: Any) -> Policy:
        rules: list[Rule] = []
        for phase, entries in _mapping(document, "the policy").items():
            if phase not in PHASES:
                raise _bad(f"{_shown(phase)} is no phase: {', '.join(PHASES)} are")
            for number, entry in enumerate(_list(entries, phase)):
                self._rules = _counted(self._rules, 1, MAX_RULES, "rules", f"{phase}[{number}]")
                rules.append(self._rule(entry, f"{phase}[{number}]", tcp=phase == "on_tcp_connect"))
        return Policy(text, tuple(rules))

    def _rule(self, entry: Any, where: str, *, tcp: bool) -> Rule:
        entry = _mapping(entry, where)
        _only(entry, ("name", "expressions", "actions"), where)
        _text(entry.get("name") or "", f"{where}.name", MAX_NAME)
        sources = _list(entry.get("expressions") or [], f"{where}.expressions")
        expressions = [self._expression(s, f"{where}.expressions[{i}]") for i, s in enumerate(sources)]
        actions = _list(entry.get("actions"), f"{where}.actions")
        if not actions:
            raise _bad(f"{where} has no actions")
        if len(actions) > MAX_ACTIONS:
            raise _bad(f"{where}.actions has {len(actions)} entries: at most {MAX_ACTIONS} are allowed")
        read = [self._action(action, f"{where}.actions[{i}]", tcp=tcp) for i, action in enumerate(actions)]
        return Rule(tuple(expressions), tuple(read))

    def _expression(self, source: Any, where: str) -> Any:
        if not isinstance(source, str):
            raise _bad(f"{where} is no text")
        return _at(where, self._conditions.compile, source)

    def _action(self, entry: Any, where: str, *, tcp: bool) -> Action:
        entry = _mapping(entry, where)
        kind = entry.get("type")
        if not isinstance(kind, str):
            raise _bad(f"{where} has no type")
        _only(entry, ("type", "config"), where)
        config = _mapping(entry.get("config") or {}, f"{where}.config")
        if not tcp:
            raise Refusal(2201, f"the action {_shown(kind)} at {where}: this edge runs no actions in the HTTP phases")
        match kind:
            case "deny":
                _only(config, (), f"{where}.config")
                return Action("deny")
            case "restrict-ips":
                return self._restriction(config, f"{where}.config")
            case "forward-internal":
                return _forward(config, f"{where}.config")
            case "terminate-tls":
                return self._termination(config, f"{where}.config")
        raise Refusal(2201, f"the action {_shown(kind)} at {where} is none that this edge can do in the TCP phase")

    def _restriction(self, config: dict[str, Any], where: str) -> Action:
        _only(config, ("enforce", "allow", "deny", "ip_policies"), where)
        enforce = config.get("enforce", True)
        if not isinstance(enforce, bool):
            raise _bad(f"{where}.enforce is neither true nor false")
        names = _list(config.get("ip_policies") or [], f"{where}.ip_policies")
        self._references = _counted(self._references, len(names), MAX_REFERENCES, "IP policies", where)
        policies = tuple(_text(name, f"{where}.ip_policies[{i}]", MAX_NAME) for i, name in enumerate(names))
        allow, deny = (self._networks(config.get(field) or [], f"{where}.{field}") for field in ("allow", "deny"))
        return Action("restrict-ips", Ranges(allow, deny, policies), enforce=enforce)

    def _networks(self, cidrs: Any, where: str) -> tuple[Network, ...]:
        cidrs = _list(cidrs, where)
        self._ranges = _counted(self._ranges, len(cidrs), MAX_RANGES, "CIDRs", where)
        return tuple(_at(f"{where}[{number}]", network, cidr) for number, cidr in enumerate(cidrs))

    def _termination(self, config: dict[str, Any], where: str) -> Action:
        if unknown := set(config) - {"server_certificate", "server_private_key"}:
            named = ", ".join(sorted(map(_shown, unknown)))
            raise Refusal(2201, f"the action 'terminate-tls' at {where} with {named}: this edge can't do that")
        if self._terminates:
            raise _bad(f"{where}: TLS ends at {self._terminates} already, and can't end twice")
        self._terminates = where
        fields = (f"{where}.server_certificate", f"{where}.server_private_key")
        certificate, key = (
            _text(config.get(name) or "", field, DOCUMENT.size)
            for name, field in zip(("server_certificate", "server_private_key"), fields, strict=True)
        )
        if bool(certificate) != bool(key):
            raise _bad(f"{where} has one of server_certificate and server_private_key; both belong together")
        if not certificate:
            return Action("terminate-tls")
        try:
            check_pair(certificate, key, *fields)
        except BadPair as error:
            raise _bad(str(error)) from None
        return Action("terminate-tls", certificate=(certificate, key))


def _forward(config: dict[str, Any], where: str) -> Action:
    _only(config, ("url",), where)
    url = _at(f"{where}.url", parse_url, _text(config.get("url") or "", f"{where}.url", 2048))
    if not url.internal:
        raise _bad(f"{where}.url is {url}, whose host does not end in .internal")
    return Action("forward-internal", url=url.key)


def _at(where: str, read: Callable[[Any], T], value: Any) -> T:
    """What `read` makes of the value; its refusal with the path to the value."""
    try:
        return read(value)
    except Refusal as error:
        raise _bad(f"{where}: {error.message}") from None
    except ExpressionError as error:
        raise _bad(f"{where}: {error}") from None


def _bad(message: str) -> Refusal:
    return Refusal(2201, f"the traffic policy can't be used: {message}")


def _counted(before: int, more: int, limit: int, what: str, where: str) -> int:
    if before + more > limit:
        raise _bad(f"{where}: the policy has more than {limit} {what}")
    return before + more


def _only(entry: dict[str, Any], allowed: tuple[str, ...], where: str) -> None:
    if unknown := set(entry) - set(allowed):
        raise _bad(f"{where} has the unknown fields {', '.join(sorted(map(_shown, unknown)))}")


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise _bad(f"{where} is no mapping")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise _bad(f"{where} is no list")
    return value


def _text(value: Any, where: str, longest: int) -> str:
    if not isinstance(value, str):
        raise _bad(f"{where} is no text")
    if len(value) > longest:
        raise _bad(f"{where} has {len(value)} characters: at most {longest} are allowed")
    return value


def _shown(text: str) -> str:
    """A name as a message shows it: short, and without control characters."""
    return ascii(text if len(text) <= 50 else text[:50] + "...")
