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
FAILED = "Failed to sync: "

ACCEPTED = ConditionType(
    "Accepted",
    meaning="Every record is one that can be served here",
    reasons={
        "Accepted": "All records are valid, ours to serve, and nobody else's",
        "Invalid": "A record can't be right; the message has its field",
        "Filtered": "A record is outside of the zones, domains or record types that are served here",
        "Conflict": "Another object has this record, or one that can't be beside it",
        "NotOwned": "The name server has this record already, and it is not ours",
        "Pending": "Not verified yet",
    },
)
READY = ConditionType(
    "Ready",
    meaning="The authoritative server holds exactly these records",
    reasons={
        "Programmed": "The server has answered with exactly these records",
        "Failed": "The server refused, or did not answer; the message has its words",
        "Pending": "The server has not confirmed the records yet, or not for a while",
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
