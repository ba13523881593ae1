"""The records that an object desires, and what is wrong with each that can't be served. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from seamark.api.dns import Endpoint
from seamark.families.dns.model.rules import Rules
from seamark.families.dns.sources.limits import LONGEST_TTL, MOST_TARGETS_IN_ALL
from seamark.providers.dns.endpoints import spellings
from seamark.providers.dns.model import Record, Slot, zone_of
from seamark.providers.dns.targets import BadTarget, canonical
from seamark.providers.dns.txt import OURS, TYPES, label_problem
from seamark_runtime.untrusted.dnsnames import LONGEST_LABEL, LONGEST_NAME, InvalidDnsName, canonical_name, within

MOST_TARGETS = 1000
MOST_NAMED = 5  # properties in a message
MOST_BYTES = 16_000  # of one RRset: what it was, what it becomes and its ownership fit in one message of 64 KiB
MOST_LABELS = 2_000  # bytes of the labels of one record: its ownership record is a TXT record of at most 4,000
OTHER_PREFIX = "set dns_txt_prefix to one that ends with a dot, as in txt-%{record_type}."
SINGLE = ("CNAME", "DNAME")
CUTS = frozenset(("NS", "DNAME"))  # what hides the names below it
REVERSE = ("in-addr.arpa", "ip6.arpa")


@dataclass(frozen=True, slots=True)
class DesiredRecord:
    """A record that can be served, in canonical spelling; a ttl of 0 leaves it to the server."""

    index: int
    zone: str
    record: Record
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a record is not accepted. `slot` is set where it is known which record is meant: that one is let alone."""

    index: int
    reason: str
    message: str
    slot: Slot | None = None


@dataclass(frozen=True, slots=True)
class DesiredRecords:
    """Of one object."""

    records: tuple[DesiredRecord, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def zones(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(desired.zone for desired in self.records))


class _Invalid(Exception):
    """A field and what is wrong with it."""

    reason = "Invalid"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)


class _Unsupported(_Invalid):
    """A field that is right, and that the provider has no means for."""

    reason = "Unsupported"


def supported(endpoint: Endpoint, rules: Rules) -> Endpoint:
    """Without what the provider has no means for: annotations are written for many providers at once."""
    if rules.set_identifiers or not (endpoint.set_identifier or endpoint.provider_specific):
        return endpoint
    return msgspec.structs.replace(endpoint, set_identifier="", provider_specific=())


def desired_records(endpoints: tuple[Endpoint, ...], rules: Rules) -> DesiredRecords:
    records: list[DesiredRecord] = []
    problems: list[Problem] = []
    targets = 0
    for index, endpoint in enumerate(endpoints):
        targets += len(endpoint.targets)
        found = desired_record(index, endpoint, rules) if targets <= MOST_TARGETS_IN_ALL else _too_many(index)
        if isinstance(found, Problem):
            problems.append(found)
        else:
            records.append(found)
    return DesiredRecords(tuple(records), tuple(problems))


def _too_many(index: int) -> Problem:
    message = f"with this one the object has more than {MOST_TARGETS_IN_ALL} targets; divide it into several objects"
    return Problem(index, "Invalid", f"spec.endpoints[{index}].targets: {message}")


def desired_record(index: int, endpoint: Endpoint, rules: Rules) -> DesiredRecord | Problem:
    path = f"spec.endpoints[{index}]"
    slot: Slot | None = None
    try:
        name = _name(endpoint)
        type_ = _type(endpoint)
        slot = (name, type_, endpoint.set_identifier if rules.set_identifiers else "")
        if filtered := _filtered(name, type_, rules):
            return Problem(index, "Filtered", f"{path}.{filtered}", slot)
        _supported(endpoint, rules)
        record = _record(slot, endpoint, rules)
        _ownable(record, rules)
        labels = _labels(endpoint, rules)
    except _Invalid as error:
        return Problem(index, error.reason, f"{path}.{error}", slot)
    zone = zone_of(name, rules.zones)
    if zone is None:
        return Problem(index, "Filtered", f"{path}.dnsName: {name} is in none of the zones that are served here", slot)
    if name == zone and type_ in CUTS:
        message = f"{name} is the zone itself, which the {type_} record of an object must not delegate"
        return Problem(index, "Invalid", f"{path}.dnsName: {message}", slot)
    if rules.registry == "txt" and not within(owner := rules.names.of(name, type_), zone):
        message = f"the ownership record of {name} would be {owner}, outside of the zone {zone}"
        return Problem(index, "Invalid", f"{path}.dnsName: {message}; {OTHER_PREFIX}", slot)
    return DesiredRecord(index, zone, record, labels)


def _supported(endpoint: Endpoint, rules: Rules) -> None:
    """A record that is served without these would not be the one that was asked for."""
    if rules.set_identifiers:
        return
    if endpoint.set_identifier:
        message = f"{endpoint.set_identifier[:80]!r}: a name server has one record set of a name and type; remove it"
        raise _Unsupported("setIdentifier", message)
    if endpoint.provider_specific:
        names = ", ".join(setting.name[:80] for setting in endpoint.provider_specific[:MOST_NAMED])
        raise _Unsupported("providerSpecific", f"{names}: a name server has no such properties; remove them")


def _name(endpoint: Endpoint) -> str:
    try:
        return canonical_name(endpoint.dns_name)
    except InvalidDnsName as error:
        raise _Invalid("dnsName", f"{endpoint.dns_name[:80]!r} {error}") from None


def _type(endpoint: Endpoint) -> str:
    type_ = endpoint.record_type.upper()
    if not type_:
        raise _Invalid("recordType", f"must be one of {', '.join(TYPES)}")
    if type_ not in TYPES:
        raise _Invalid("recordType", f"{endpoint.record_type[:40]!r} is not one of {', '.join(TYPES)}")
    return type_


def _filtered(name: str, type_: str, rules: Rules) -> str:
    if type_ not in rules.types:
        return f"recordType: {type_} records are not managed here; those of {', '.join(sorted(rules.types))} are"
    if not rules.domains.match(name):
        return f"dnsName: {name} is outside of the domains that are served here"
    return ""


def _record(slot: Slot, endpoint: Endpoint, rules: Rules) -> Record:
    name, type_, identifier = slot
    if type_ == "PTR" and not name.endswith(REVERSE):
        raise _Invalid("dnsName", f"{name} is not under {' or '.join(REVERSE)}, where PTR records are")
    if not 0 <= endpoint.record_ttl <= LONGEST_TTL:
        raise _Invalid("recordTTL", f"{endpoint.record_ttl} is not from 0 to {LONGEST_TTL}")
    ttl = max(endpoint.record_ttl, rules.min_ttl) if endpoint.record_ttl else 0
    known = sorted((setting.name, setting.value) for setting in endpoint.provider_specific)
    targets = _targets(type_, endpoint.targets)
    spelled = spellings(type_, targets) if type_ == "TXT" else ()
    return Record(name, type_, tuple(sorted(targets)), ttl, identifier, tuple(known), spelled)


def _targets(type_: str, targets: tuple[str, ...]) -> dict[str, str]:
    """In canonical form, each with how it is written."""
    if not targets:
        raise _Invalid("targets", "must not be empty")
    if len(targets) > MOST_TARGETS:
        raise _Invalid("targets", f"has {len(targets)} entries; at most {MOST_TARGETS} fit in an answer")
    if type_ in SINGLE and len(set(targets)) > 1:
        raise _Invalid("targets", f"a {type_} has one target, and here are {len(targets)}")
    found: dict[str, str] = {}
    for number, target in enumerate(targets):
        try:
            found[canonical(type_, target)] = target
        except BadTarget as error:
            raise _Invalid(f"targets[{number}]", str(error)) from None
    if (size := sum(map(size_of, found))) > MOST_BYTES:
        raise _Invalid("targets", f"have {size} bytes together; at most {MOST_BYTES} fit in an answer")
    return found


def size_of(target: str) -> int:
    """In a message, with what each record of a set has beside its target."""
    return 16 + len(target.encode("utf-8", "surrogateescape"))


def _ownable(record: Record, rules: Rules) -> None:
    """The ownership record beside it needs a name, too; and only we create such a record."""
    if rules.registry != "txt":
        return
    if record.type == "TXT" and any(map(rules.values.reserved, record.targets)):
        raise _Invalid("targets", "heritage=external-dns is reserved for ownership records, which only Seamark writes")
    name = rules.names.of(record.name, record.type)
    longest = max(len(label) for label in name.split("."))
    if longest > LONGEST_LABEL or len(name) > LONGEST_NAME:
        message = f"leaves no room for its ownership record {name[:40]}…, whose name would be too long"
        raise _Invalid("dnsName", f"{record.name[:80]} {message}")


def _labels(endpoint: Endpoint, rules: Rules) -> tuple[tuple[str, str], ...]:
    """Those that its ownership record carries. Owner and object are always set by us."""
    if rules.registry != "txt":
        return ()
    found = sorted((name, value) for name, value in (endpoint.labels or {}).items() if name not in OURS)
    size = sum(len(name) + len(value) for name, value in found)
    if size > MOST_LABELS:
        raise _Invalid("labels", f"have {size} characters together; at most {MOST_LABELS} fit in an ownership record")
    for name, value in found:
        if message := label_problem(name, value):
            raise _Invalid("labels", message)
    return tuple(found)
