"""What the decisions about a DNSEndpoint are made from, and all of its conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seamark.api.dns import DNSEndpoint
from seamark.families.dns.model.desired import DesiredRecords
from seamark.families.dns.model.entries import ZoneReport, remembered_zones
from seamark.families.dns.model.rules import Rules
from seamark_runtime.conditions import ConditionType

SYNCED = "Successfully synced DNS records"
NOTHING = "There is nothing to publish: spec.endpoints is empty"
FAILED = "Failed to sync: "

ACCEPTED = ConditionType(
    "Accepted",
    meaning="Every record is one that can be served here",
    reasons={
        "Accepted": "All records are valid, ours to serve, and of no other owner",
        "Invalid": "A record can't be right; the message has its field",
        "Unsupported": "A record has a set identifier or properties, and the provider has no means for them",
        "NothingToPublish": "The object has no records",
        "Filtered": "A record is outside of the zones, domains or record types that are served here",
        "Conflict": "Another object has this record, or one that can't be beside it",
        "NotOwned": "The name server has this record already, and it is not ours",
        "Pending": "Not verified yet",
    },
)
READY = ConditionType(
    "Ready",
    meaning="A resolver that asks any authoritative name server gets exactly these records",
    reasons={
        "Programmed": "Each authoritative name server has answered with exactly these records",
        "NothingToPublish": "The object has no records, and nothing of it is on the server",
        "AnsweredOtherwise": "A name server answers something else; the message has the server and its answer",
        "Failed": "The server refused, or does not respond for a record that does not exist; the message has its error",
        "Pending": "The name servers have not answered with the records yet",
        "NoResponse": "A server does not respond; the message has since when",
        "NoNameServer": "No name server serves the records: the provider is memory, or name servers are not known",
        "NotComparable": "A record has provider properties, and the name servers answer with other targets",
        "NotQueried": "The name servers have not been asked for the records yet",
        "NotAccepted": "Accepted is False, and says why",
    },
    summary=True,
)
CONDITIONS = (ACCEPTED, READY)


@dataclass(frozen=True)
class Seen:
    """A DNSEndpoint, its desired records, and the last entry of each zone about exactly this generation."""

    endpoint: DNSEndpoint
    desired: DesiredRecords
    reports: Mapping[str, ZoneReport]
    rules: Rules

    @property
    def remembered(self) -> tuple[str, ...]:
        """Zones in which there may be records of it, from this run of the operator or an earlier one."""
        return remembered_zones(self.endpoint)

    def pending(self, zone: str) -> bool:
        report = self.reports.get(zone)
        return report is None or not report.known
