"""A webhook provider that treats records as the aws provider of ExternalDNS does."""

from __future__ import annotations

import json
from typing import Any

from tests.dns.hooks import Asked, Hook, Reply

BALANCER = "lb-1.eu-west-1.elb.amazonaws.com"


class AwsHook(Hook):
    """Of a CNAME to a load balancer it makes alias records of both address families, with a TTL of 300. It takes no
    CNAME beside another record, no record set without a weight beside weighted ones, and no text without quotes."""

    def _good(self, asked: Asked) -> Reply:
        if asked.route == "POST /adjustendpoints":
            found = [form for one in json.loads(asked.body) for form in adjusted(one)]
            return Reply(body=json.dumps(found).encode())
        if asked.route == "POST /records" and not self._accepts(json.loads(asked.body)):
            return Reply(status=500)
        return super()._good(asked)

    def _accepts(self, changes: dict[str, Any]) -> bool:
        gone = [_slot(one) for one in changes.get("delete") or ()]
        if any(slot not in self.records for slot in gone):
            return False
        kept = {slot: one for slot, one in self.records.items() if slot not in gone}
        new = [*(changes.get("create") or ()), *(changes.get("updateNew") or ())]
        if any(_slot(one) in kept for one in changes.get("create") or ()):
            return False
        after = {**kept, **{_slot(one): one for one in new}}
        for (name, type_, identifier), one in after.items():
            beside = [slot for slot in after if slot[0] == name and slot[1] != type_]
            if type_ == "CNAME" and beside:
                return False
            if identifier and "aws/weight" not in properties(one):
                return False
        return all(
            target.startswith('"') and target.endswith('"')
            for one in new
            if one["recordType"] == "TXT"
            for target in one["targets"]
        )


def adjusted(endpoint: dict[str, Any]) -> list[dict[str, Any]]:
    known = properties(endpoint)
    if endpoint["recordType"] != "CNAME":
        return [endpoint]
    if endpoint["targets"][0].endswith(".elb.amazonaws.com"):
        known |= {"alias": "true", "aws/evaluate-target-health": known.get("aws/evaluate-target-health", "true")}
        return [_with(endpoint, known, recordType=type_, recordTTL=300) for type_ in ("A", "AAAA")]
    return [_with(endpoint, {**known, "alias": "false"})]


def properties(endpoint: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one.get("value", "") for one in endpoint.get("providerSpecific") or ()}


def _with(endpoint: dict[str, Any], known: dict[str, str], **more: Any) -> dict[str, Any]:
    listed = [{"name": name, "value": value} for name, value in known.items()]
    return {**endpoint, **more, "providerSpecific": listed}


def _slot(endpoint: dict[str, Any]) -> tuple[str, str, str]:
    return endpoint["dnsName"], endpoint["recordType"], endpoint.get("setIdentifier", "")
