"""Traffic policies: checked when they are set, their TCP phase run when a client connects.

What this edge can't do is refused when the policy is set, naming the action: a policy is never half applied.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
import yaml

from seamark.edge.errors import Refusal, invalid
from seamark.edge.expressions import checked, holds
from seamark.edge.urls import parse_url

MAX_POLICY = 64 * 1024
PHASES = ("on_tcp_connect", "on_http_request", "on_http_response")
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Ranges:
    """Source ranges: allowed if in one of `allow` (or none is named) and in none of `deny`."""

    allow: tuple[Network, ...] = ()
    deny: tuple[Network, ...] = ()
    policies: tuple[str, ...] = ()

    def admits(self, address: str, rules_of: Callable[[str], Ranges]) -> bool:
        if not (self.allow or self.deny or self.policies):
            return True
        ip = ipaddress.ip_address(address)
        if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped:
            ip = ip.ipv4_mapped
        referred = [rules_of(policy) for policy in self.policies]
        allow = [*self.allow, *(network for ranges in referred for network in ranges.allow)]
        deny = [*self.deny, *(network for ranges in referred for network in ranges.deny)]
        if any(ip in network for network in deny):
            return False
        return any(ip in network for network in allow) if allow or self.policies else True


ANYWHERE = Ranges()


@dataclass(frozen=True, slots=True)
class Action:
    type: str
    ranges: Ranges = ANYWHERE
    enforce: bool = True
    url: str = ""
    certificate: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    expressions: tuple[str, ...]
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Client:
    """Who connects, as expressions see it."""

    ip: str
    port: int
    server_port: int = 0
    server_name: str = ""

    @property
    def names(self) -> dict[str, Any]:
        return {
            "conn": {
                "client_ip": self.ip,
                "client_port": self.port,
                "server_port": self.server_port,
                "tls": {"sni": self.server_name},
            }
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """Let through, turned away, or sent on to another endpoint."""

    denied: bool = False
    forward: str = ""


PASS = Verdict()


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy that this edge can carry out in full."""

    text: str = ""
    rules: tuple[Rule, ...] = ()

    def judge(self, client: Client, rules_of: Callable[[str], Ranges]) -> Verdict:
        for rule in self.rules:
            if not all(holds(expression, client.names) for expression in rule.expressions):
                continue
            for action in rule.actions:
                if action.type == "deny":
                    return Verdict(denied=True)
                if action.type == "restrict-ips" and action.enforce and not action.ranges.admits(client.ip, rules_of):
                    return Verdict(denied=True)
                if action.type == "forward-internal":
                    return Verdict(forward=action.url)
        return PASS

    @property
    def terminates(self) -> Action | None:
        """The action that ends TLS here, if there is one."""
        return next((a for rule in self.rules for a in rule.actions if a.type == "terminate-tls"), None)

    @property
    def forwards(self) -> bool:
        return any(action.type == "forward-internal" for rule in self.rules for action in rule.actions)


EMPTY = Policy()


def parse_policy(text: str) -> Policy:
    """The policy in this YAML or JSON text, or a refusal that says what is wrong or can't be done."""
    if not text.strip():
        return EMPTY
    if len(text) > MAX_POLICY:
        raise invalid(f"traffic policy of {len(text)} characters: at most {MAX_POLICY} are taken")
    try:
        document = msgspec.json.decode(text) if text.lstrip().startswith("{") else yaml.safe_load(text)
    except (msgspec.DecodeError, yaml.YAMLError, RecursionError, ValueError) as error:
        raise _bad(f"it is neither JSON nor YAML ({str(error).splitlines()[0]})") from error
    document = _mapping(document, "the policy")
    rules: list[Rule] = []
    for phase, entries in document.items():
        if phase not in PHASES:
            raise _bad(f"{phase!r} is no phase: {', '.join(PHASES)} are")
        for number, entry in enumerate(_list(entries, phase)):
            rule = _rule(entry, f"{phase}[{number}]", tcp=phase == "on_tcp_connect")
            rules.append(rule)
    return Policy(text, tuple(rules))


def parse_ranges(allow: Iterable[Any], deny: Iterable[Any], policies: Iterable[Any] = ()) -> Ranges:
    return Ranges(
        tuple(network(cidr) for cidr in allow),
        tuple(network(cidr) for cidr in deny),
        tuple(str(policy) for policy in policies),
    )


def network(cidr: Any) -> Network:
    try:
        return ipaddress.ip_network(str(cidr), strict=False)
    except ValueError as error:
        raise invalid(f"{str(cidr)[:100]!r} is no CIDR") from error


def _rule(entry: Any, where: str, *, tcp: bool) -> Rule:
    entry = _mapping(entry, where)
    if unknown := set(entry) - {"name", "expressions", "actions"}:
        raise _bad(f"{where} has unknown fields {sorted(unknown)}")
    expressions = tuple(str(source) for source in _list(entry.get("expressions") or [], f"{where}.expressions"))
    for source in expressions:
        checked(source)
    actions = _list(entry.get("actions"), f"{where}.actions")
    if not actions:
        raise _bad(f"{where} has no actions")
    return Rule(expressions, tuple(_action(a, f"{where}.actions[{i}]", tcp=tcp) for i, a in enumerate(actions)))


def _action(entry: Any, where: str, *, tcp: bool) -> Action:
    entry = _mapping(entry, where)
    kind = entry.get("type")
    config = _mapping(entry.get("config") or {}, f"{where}.config")
    if not isinstance(kind, str):
        raise _bad(f"{where} has no type")
    if not tcp:
        raise Refusal(2201, f"the action {kind!r} at {where}: this edge runs no actions in the HTTP phases")
    match kind:
        case "deny":
            return Action("deny")
        case "restrict-ips":
            lists = [_list(config.get(field) or [], f"{where}.{field}") for field in ("allow", "deny", "ip_policies")]
            return Action("restrict-ips", parse_ranges(*lists), enforce=config.get("enforce", True) is not False)
        case "forward-internal":
            url = parse_url(str(config.get("url", "")))
            if not url.internal:
                raise _bad(f"{where} forwards to {url}, whose host does not end in .internal")
            return Action("forward-internal", url=url.key)
        case "terminate-tls":
            return Action("terminate-tls", certificate=_pair(config, where))
    raise Refusal(2201, f"the action {kind!r} at {where} is none that this edge can do in the TCP phase")


def _pair(config: dict[str, Any], where: str) -> tuple[str, str] | None:
    if unknown := set(config) - {"server_certificate", "server_private_key"}:
        raise Refusal(2201, f"the action 'terminate-tls' at {where} with {sorted(unknown)}: this edge can't do that")
    certificate, key = config.get("server_certificate"), config.get("server_private_key")
    if bool(certificate) != bool(key):
        raise _bad(f"{where} has one of server_certificate and server_private_key; both belong together")
    return (str(certificate), str(key)) if certificate else None


def _bad(message: str) -> Refusal:
    return Refusal(2201, f"the traffic policy can't be used: {message}")


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise _bad(f"{where} is no mapping")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise _bad(f"{where} is no list")
    return value
