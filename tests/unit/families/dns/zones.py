"""Short ways to say records, claims and what a zone holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from seamark.families.dns.claims import Claim, Verdict
from seamark.families.dns.ledger import Subject
from seamark.families.dns.planning import Stake, ZonePlan
from seamark.families.dns.rules import Rules
from seamark.families.dns.state import Ref
from seamark.families.dns.wishes import Wish, Wishes
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


def subject(*claims: Claim, key: str = "", **more: Any) -> Subject:
    """An object that claims these records, all of them its own."""
    wanted = Wishes(tuple(Wish(one.index, ZONE, one.record, one.labels) for one in claims))
    return Subject(claims[0].ref, key or claims[0].ref.name, "uid", 1, wanted, {ZONE: claims}, **more)


def owned(who: str, text: str, *, ttl: int = 300, owner: str = "me", under: Rules | None = None) -> list[Record]:
    """A record and its ownership record, as the server holds them."""
    under = under or rules()
    one = record(text, ttl=ttl)
    value = under.values.encode({"owner": owner, "resource": ref(who).resource})
    return [one, Record(under.names.of(one.name, one.type), "TXT", (value,), 300)]


def content(*records: Record | Iterable[Record]) -> Content:
    names: dict[str, tuple[Record, ...]] = {}
    for some in records:
        for one in [some] if isinstance(some, Record) else some:
            names[one.name] = (*names.get(one.name, ()), one)
    return Content(ZONE, 1, names)


@dataclass(frozen=True)
class Planned:
    """The plan of a zone, and what it says of each claim."""

    changes: tuple[Change, ...]
    verdicts: dict[tuple[Ref, int], Verdict]


def plan(holds: Content, *claims: Claim, under: Rules | None = None, stakes: Iterable[Stake] = ()) -> Planned:
    """From nothing. Every claim is a stake of its own; `stakes` are those of objects that claim nothing."""
    under = under or rules()
    made = ZonePlan(ZONE, under)
    given = [*(Stake(one.ref, (one,)) for one in claims), *stakes]
    touched = made.follow(holds, dict(enumerate(given)), under.sources)
    assert not made.backlog
    return Planned(made.changes, {who: one for name in touched for who, one in made.name(name).verdicts.items()})


def told(changes: Iterable[Change]) -> list[str]:
    """What the changes do, in words: `create www A 192.0.2.1 +owner`."""
    said = []
    for change in changes:
        for part in change.parts:
            verb = "create" if part.before is None else "delete" if part.after is None else "update"
            short = part.record.name.removesuffix(f".{ZONE}")
            owner = part.record.type == "TXT" and "heritage" in part.record.targets[0]
            targets = "" if part.after is None or owner else " " + ",".join(part.after.targets)
            said.append(f"{verb} {short} {'owner' if owner else part.record.type}{targets}")
    return said
