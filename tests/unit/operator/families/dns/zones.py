"""Short notations for records, claims and what a zone holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from seamark.families.dns.model.desired import DesiredRecord, DesiredRecords
from seamark.families.dns.model.entries import Ref
from seamark.families.dns.model.rules import Rules
from seamark.families.dns.planning.claims import Claim, Decision, ObjectClaims
from seamark.families.dns.planning.subject import Subject
from seamark.families.dns.planning.zoneplan import ZonePlan
from seamark.providers.dns.model import Change, Content, Record

ZONE = "example.org"
EVERY_TYPE = frozenset(("A", "AAAA", "CNAME", "TXT", "SRV", "NS", "PTR", "MX", "NAPTR", "DNAME"))


def rules(**more: object) -> Rules:
    return Rules(**{"zones": (ZONE,), "owner": "me", "types": EVERY_TYPE, **more})  # type: ignore[arg-type]  # as given


def record(text: str, *, ttl: int = 0) -> Record:
    """`www A 192.0.2.1,192.0.2.2`"""
    name, type_, targets = text.split(" ", 2)
    full = ZONE if name == "@" else f"{name}.{ZONE}"
    return Record(full, type_, tuple(sorted(targets.split(","))), ttl)


def ref(name: str) -> Ref:
    namespace, _, rest = name.rpartition("/")
    return Ref("crd", namespace or "default", rest)


def claim(who: str, text: str, *, index: int = 0, ttl: int = 0, settled: bool = True) -> Claim:
    return Claim(ref(who), index, record(text, ttl=ttl), (), settled)


def subject(*claims: Claim, **more: Any) -> Subject:
    """An object that claims these records, all of them its own."""
    wanted = DesiredRecords(tuple(DesiredRecord(each.index, ZONE, each.record, each.labels) for each in claims))
    return Subject(claims[0].ref, "uid", 1, wanted, {ZONE: claims}, **more)


def owned(who: str, text: str, *, ttl: int = 300, owner: str = "me", under: Rules | None = None) -> list[Record]:
    """A record and its ownership record, as the server holds them."""
    under = under or rules()
    owned_record = record(text, ttl=ttl)
    value = under.values.encode({"owner": owner, "resource": ref(who).resource})
    return [owned_record, Record(under.names.of(owned_record.name, owned_record.type), "TXT", (value,), 300)]


def content(*records: Record | Iterable[Record]) -> Content:
    names: dict[str, tuple[Record, ...]] = {}
    for some in records:
        for held in [some] if isinstance(some, Record) else some:
            names[held.name] = (*names.get(held.name, ()), held)
    return Content(ZONE, 1, names)


@dataclass(frozen=True)
class Planned:
    """The plan of a zone, and what it says of each claim."""

    changes: tuple[Change, ...]
    decisions: dict[tuple[Ref, int], Decision]


def plan(holds: Content, *claims: Claim, under: Rules | None = None, others: Iterable[ObjectClaims] = ()) -> Planned:
    """From nothing, for these claims; `others` are objects that claim no record."""
    under = under or rules()
    made = ZonePlan(ZONE, under)
    by_object: dict[Ref, list[Claim]] = {}
    for claim in claims:
        by_object.setdefault(claim.ref, []).append(claim)
    given = {ref: ObjectClaims(ref, tuple(some)) for ref, some in by_object.items()}
    given |= {other.ref: other for other in others}
    touched = made.follow(holds, given, under.sources)
    assert not made.backlog
    return Planned(
        made.changes, {who: decision for name in touched for who, decision in made.name(name).decisions.items()}
    )


def described(changes: Iterable[Change]) -> list[str]:
    """What the changes do, as text: `create www A 192.0.2.1`."""
    texts = []
    for change in changes:
        for part in change.parts:
            verb = "create" if part.before is None else "delete" if part.after is None else "update"
            short = part.record.name.removesuffix(f".{ZONE}")
            owner = part.record.type == "TXT" and "heritage" in part.record.targets[0]
            targets = "" if part.after is None or owner else " " + ",".join(part.after.targets)
            texts.append(f"{verb} {short} {'owner' if owner else part.record.type}{targets}")
    return texts
