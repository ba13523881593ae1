"""What the decisions about a zone are made from, and the actions of its calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from seamark.families.dns.model.entries import Ref
from seamark.families.dns.model.lookups import NOT_QUERIED, Shown
from seamark.families.dns.planning.claims import Decision
from seamark.families.dns.planning.subject import Subject
from seamark.providers.dns.model import Change, Record


@dataclass(frozen=True)
class Read:
    """Ask the server for its serial, and for what has changed if that has moved."""

    zone: str


@dataclass(frozen=True)
class Adjust:
    """Ask the provider how it adjusts these records."""

    zone: str
    records: tuple[Record, ...]


@dataclass(frozen=True)
class Ask:
    """Ask the authoritative name servers for these records, as a resolver would. At rest the same is asked again."""

    zone: str
    records: tuple[Record, ...]
    number: int = 0


@dataclass(frozen=True)
class Update:
    """Make these changes, find out which are refused, and read the result."""

    zone: str
    changes: tuple[Change, ...]
    serial: int = 0  # of the content that they were planned from
    alone: bool = False  # a change that was refused before: the server's error is the result


class Deadlines(NamedTuple):
    """How long a call that reads, and one that changes something, may take; in seconds."""

    reading: float = 60.0
    updating: float = 120.0


DEADLINES = Deadlines()


@dataclass(frozen=True)
class Changeset:
    """What is to be done in a zone, by its last complete plan.

    - `writable`: the server answers, and has confirmed what it holds. Nothing is changed otherwise.
    - `changes`: all that the server has not refused. `retries`: refused changes that are due to be tried again.
    - `adjust`: records for which the provider has to be asked before they can be planned.
    - `ask`: records for which the authoritative name servers are to be asked; `asking` numbers these questions.
    - `serial`: of the content that the changes were planned from. `every`: seconds between two reads.
    - `deadlines`: of its calls.
    """

    zone: str
    every: float
    deadlines: Deadlines = DEADLINES
    writable: bool = False
    serial: int = 0
    changes: tuple[Change, ...] = ()
    adjust: tuple[Record, ...] = ()
    ask: tuple[Record, ...] = ()
    asking: int = 0
    retries: tuple[Change, ...] = ()


class Trouble(NamedTuple):
    """Why the zone can't be read or written: the server's error.

    - `silent`: it does not respond; what it serves is not known. `since`: when that was first noticed.
    - `unanswered`: it gives no usable answer at all. That is later than any refusal of a single record, which is tried
      again only while it answers.
    """

    message: str = ""
    unanswered: bool = False
    silent: bool = False
    since: str = ""


@dataclass(frozen=True, slots=True)
class RecordState:
    """One desired record of an object in the plan.

    `refusal`: the server's error about its change. `shown`: what its name servers answer, where it is in place.
    """

    index: int
    decision: Decision | None  # None: not planned yet
    refusal: str | None = None
    shown: Shown = NOT_QUERIED


@dataclass(frozen=True, slots=True)
class SubjectState:
    """An object in the plan.

    - `left`: something of it is on the server, or a record that it names is about to change.
    - `refusal`: the server's error about the removal of one of its records.
    """

    subject: Subject
    records: tuple[RecordState, ...] = ()
    left: bool = True
    refusal: str = ""


@dataclass(frozen=True)
class SeenZone:
    """A zone at one moment. `subjects`: the objects whose entry may have changed; None for those that are gone.

    `known`: the server has been read since our start. `fresh`: it has confirmed its content lately, the last time at
    `confirmed`. `silence`: which of its name servers does not respond, since when; empty if all do.
    """

    zone: str
    known: bool
    fresh: bool
    confirmed: str
    silence: str
    trouble: Trouble
    changeset: Changeset
    subjects: Mapping[Ref, SubjectState | None]
