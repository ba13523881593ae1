"""All conditions of a DNSEndpoint, and the entries between the controllers of the family."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from seamark.families.dns.expiring import Expiring
from seamark.families.dns.wishes import Wishes
from seamark.providers.dns.model import Change, Record
from seamark_runtime.conditions import ConditionType

FINALIZER = "externaldns.k8s.io/records"
ZONES = "externaldns.k8s.io/zones"  # the annotation that remembers in which zones there may be records of the object
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
        "Pending": "Nobody has looked yet",
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


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """Whose wish a record is: a source, and an object of it."""

    source: str
    namespace: str
    name: str

    @property
    def resource(self) -> str:
        return f"{self.source}/{self.namespace}/{self.name}"

    @staticmethod
    def parse(resource: str) -> Ref | None:
        parts = resource.split("/")
        return Ref(*parts) if len(parts) == 3 else None


@dataclass(frozen=True, slots=True)
class Row:
    """The verdict about one record of an object: `state` is that of the status."""

    index: int
    state: str
    reason: str = ""
    message: str = ""


Refusals = Mapping[Change, str]  # changes that the server refused, with its words
Adjusted = Expiring[Record, Record | None]  # records as the provider would rather have them; None: not at all
MOST_ALONE = 50  # refused changes that are tried again at the same time
PROGRAMMED, PENDING, ROW_FAILED, NOT_ACCEPTED = "Programmed", "Pending", "Failed", "NotAccepted"


@dataclass(frozen=True, slots=True)
class ZoneReport:
    """What a zone says about one object, of exactly this generation and these wishes.

    - `known`: the server has been asked since our start. `fresh`: it has confirmed its content lately.
    - `gone`: nothing of the object is left there, except what others want.
    - `trouble`: why the zone can't be read or written, in the server's words.
    """

    uid: str
    generation: int
    wishes: Wishes
    rows: tuple[Row, ...]
    known: bool
    fresh: bool
    gone: bool
    trouble: str = ""


@dataclass(frozen=True)
class Read:
    """Ask the server for its serial, and for what has changed if that has moved."""

    zone: str


@dataclass(frozen=True)
class Adjust:
    """Ask the provider how it would rather have these records."""

    zone: str
    records: tuple[Record, ...]


@dataclass(frozen=True)
class Update:
    """Make these changes, find out which are refused, and read what came of them."""

    zone: str
    changes: tuple[Change, ...]
    serial: int = 0  # of the content that they were planned from
    alone: bool = False  # a change that was refused before: the server's words are the answer
