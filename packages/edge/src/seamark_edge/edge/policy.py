"""Traffic policies as they are applied: the TCP phase of a policy decides about each client that connects."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import structlog

from seamark_edge.edge.errors import invalid
from seamark_edge.wire.expressions import POLICY
from seamark_runtime.cel import BudgetExceeded, CelError, Meter, Program

log = structlog.get_logger(__name__)

CONNECTION_BUDGET = 50_000  # steps of all expressions that are evaluated for one connection: about 10 ms
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
    expressions: tuple[Program, ...]
    actions: tuple[Action, ...]

    def applies(self, names: dict[str, Any], meter: Meter) -> bool:
        """Whether all expressions are true.

        One that is false decides, whatever the others give. Otherwise, where one fails, the rule does not apply; a
        rule that restricts access raises `EvaluationFailed`. BudgetExceeded is raised.
        """
        failed = False
        for expression in self.expressions:
            value = _value(expression, names, meter)
            if value is False:
                return False
            failed = failed or value is None
        if failed and self.restricts:
            raise EvaluationFailed
        return not failed

    @property
    def restricts(self) -> bool:
        return any(action.type in ("deny", "restrict-ips") for action in self.actions)


class EvaluationFailed(Exception):
    """An expression of a rule that restricts access could not be evaluated."""


def _value(expression: Program, names: dict[str, Any], meter: Meter) -> bool | None:
    """True or false; None if it can't be evaluated, or gives something else."""
    try:
        value = expression(names, meter)
    except BudgetExceeded:
        raise
    except CelError:
        return None
    return value if isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class Client:
    """Who connects, as expressions see it. All policies that are asked about it share the budget of `meter`."""

    ip: str
    port: int
    server_port: int = 0
    server_name: str = ""
    meter: Meter = field(default_factory=lambda: Meter(POLICY.limits, CONNECTION_BUDGET), compare=False, repr=False)

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
class Decision:
    """Let through, turned away, or sent on to another endpoint."""

    denied: bool = False
    forward: str = ""


PASS = Decision()


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy that this edge can carry out in full."""

    text: str = ""
    rules: tuple[Rule, ...] = ()

    def judge(self, client: Client, rules_of: Callable[[str], Ranges]) -> Decision:
        """What becomes of the client. Denied if expressions exceed the budget, or one of a restricting rule fails."""
        try:
            return self._judged(client, rules_of)
        except (BudgetExceeded, EvaluationFailed) as error:
            log.debug("connection denied by its policy", client=client.ip, reason=str(error))
            return Decision(denied=True)

    def _judged(self, client: Client, rules_of: Callable[[str], Ranges]) -> Decision:
        names = client.names
        for rule in self.rules:
            if not rule.applies(names, client.meter):
                continue
            for action in rule.actions:
                if action.type == "deny":
                    return Decision(denied=True)
                if action.type == "restrict-ips" and action.enforce and not action.ranges.admits(client.ip, rules_of):
                    return Decision(denied=True)
                if action.type == "forward-internal":
                    return Decision(forward=action.url)
        return PASS

    @property
    def terminates(self) -> Action | None:
        """The action that ends TLS here, if there is one."""
        return next((a for rule in self.rules for a in rule.actions if a.type == "terminate-tls"), None)

    @property
    def forwards(self) -> bool:
        return any(action.type == "forward-internal" for rule in self.rules for action in rule.actions)


EMPTY = Policy()


def parse_ranges(allow: Iterable[Any], deny: Iterable[Any], policies: Iterable[Any] = ()) -> Ranges:
    return Ranges(
        tuple(network(cidr) for cidr in allow),
        tuple(network(cidr) for cidr in deny),
        tuple(str(policy) for policy in policies),
    )


def network(cidr: Any) -> Network:
    if not isinstance(cidr, str):
        raise invalid("a CIDR is a text")
    try:
        return ipaddress.ip_network(cidr, strict=False)
    except ValueError as error:
        raise invalid(f"{cidr[:100]!r} is no CIDR") from error
