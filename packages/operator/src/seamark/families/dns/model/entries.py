"""The entries of zones about objects, and the names by which objects and their records are found again."""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.dns import DNSEndpoint
from seamark.families.dns.model.desired import DesiredRecords
from seamark_runtime.api.meta import Key

FINALIZER = "externaldns.k8s.io/records"
ZONES = "externaldns.k8s.io/zones"  # the annotation with the zones in which there may be records of the object
ANSWERED_OTHERWISE, NO_RESPONSE, NO_NAME_SERVER = "AnsweredOtherwise", "NoResponse", "NoNameServer"
NOT_COMPARABLE, NOT_QUERIED = "NotComparable", "NotQueried"
PROGRAMMED, PENDING, ROW_FAILED, NOT_ACCEPTED = "Programmed", "Pending", "Failed", "NotAccepted"
LONGEST_MESSAGE = 256  # of the message of one record
CRD = "crd"  # the source of DNSEndpoints


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """The object that a record belongs to: its source, and its name there."""

    source: str
    namespace: str
    name: str

    @property
    def resource(self) -> str:
        return f"{self.source}/{self.namespace}/{self.name}"

    @staticmethod
    def of(source: str, key: Key) -> Ref:
        return Ref(source, key.namespace, key.name)

    @staticmethod
    def parse(resource: str) -> Ref | None:
        parts = resource.split("/")
        return Ref(*parts) if len(parts) == 3 else None


@dataclass(frozen=True, slots=True)
class Row:
    """The result for one record of an object: `state` is that of the status."""

    index: int
    state: str
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class ZoneReport:
    """The entry of a zone about one object, for exactly this generation and these desired records.

    - `known`: the server has been read since our start. `fresh`: it has confirmed its content lately.
    - `gone`: nothing of the object is left there, except what other objects want.
    - `trouble`: why the zone can't be read or written; the server's error.
    - `confirmed`: when the server last confirmed its content, if that is not lately.
    """

    uid: str
    generation: int
    desired: DesiredRecords
    rows: tuple[Row, ...]
    known: bool
    fresh: bool
    gone: bool
    trouble: str = ""
    confirmed: str = ""


def remembered_zones(endpoint: DNSEndpoint) -> tuple[str, ...]:
    """Zones in which there may be records of it, from this run of the operator or an earlier one."""
    text = endpoint.annotation(ZONES)
    return tuple("" if zone == "." else zone for zone in text.split(",")) if text else ()


def zone_key(zone: str) -> Key:
    return Key("", zone or ".")


def zone_named(key: Key) -> str:
    return "" if key.name == "." else key.name
