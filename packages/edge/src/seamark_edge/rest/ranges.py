"""IP policies and their rules."""

from __future__ import annotations

from typing import Any

from seamark_edge.edge.errors import invalid
from seamark_edge.edge.policy import Ranges, network
from seamark_edge.rest.base import Body, Resource, read, ref, set_fields
from seamark_edge.store.record import Record
from seamark_edge.store.store import Store

POLICY, RULE = "ip_policy", "ip_policy_rule"


class IpPolicies(Resource):
    """Named lists of source ranges. Deleting one deletes its rules; a policy that refers to it then admits no address
    by it."""

    path, key, kind, prefix, what = "/ip_policies", "ip_policies", POLICY, "ipp", "IP policy"

    async def create(self, raw: Any) -> dict[str, Any]:
        return await self.add(set_fields(read(raw, Body)))

    async def delete(self, ident: str) -> None:
        await super().delete(ident)
        for rule in list(self.store.all(RULE)):
            if rule.body["ip_policy_id"] == ident:
                await self.store.remove(rule)


class RuleBody(Body, frozen=True, kw_only=True):
    cidr: str | None = None
    ip_policy_id: str | None = None
    action: str | None = None


class IpPolicyRules(Resource):
    """One range of an IP policy, allowed or denied."""

    path, key, kind, prefix, what = "/ip_policy_rules", "ip_policy_rules", RULE, "ipr", "IP policy rule"

    async def create(self, raw: Any) -> dict[str, Any]:
        body = read(raw, RuleBody)
        if body.action not in ("allow", "deny"):
            raise invalid("action is 'allow' or 'deny'")
        if not body.cidr:
            raise invalid("cidr is missing")
        if self.store.get(POLICY, body.ip_policy_id or "") is None:
            raise invalid("ip_policy_id names no IP policy")
        return await self.add({**set_fields(body), "cidr": str(network(body.cidr))})

    async def update(self, ident: str, raw: Any) -> dict[str, Any]:
        body = read(raw, RuleBody)
        fields = {
            name: value for name, value in set_fields(body).items() if name in ("description", "metadata", "cidr")
        }
        if body.cidr is not None:
            fields["cidr"] = str(network(body.cidr))
        await self.store.put(self.record(ident).changed(**fields))
        return self.view(ident)

    def show(self, record: Record) -> dict[str, Any]:
        shown = {name: value for name, value in record.body.items() if name != "ip_policy_id"}
        return {**shown, "ip_policy": ref("/ip_policies", record.body["ip_policy_id"])}


class RangesOf:
    """The ranges of an IP policy, for the policy's action. Made once for each version of the state."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._version = -1
        self._made: dict[str, Ranges] = {}

    def __call__(self, policy: str) -> Ranges:
        if self._version != self._store.version:
            self._version = self._store.version
            self._made.clear()
        if policy not in self._made:
            self._made[policy] = self._make(policy)
        return self._made[policy]

    def _make(self, policy: str) -> Ranges:
        rules = [rule.body for rule in self._store.all(RULE) if rule.body["ip_policy_id"] == policy]
        return Ranges(
            tuple(network(rule["cidr"]) for rule in rules if rule["action"] == "allow"),
            tuple(network(rule["cidr"]) for rule in rules if rule["action"] == "deny"),
        )
