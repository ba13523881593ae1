"""Taking something else for what a resolver gets from the name servers."""

from __future__ import annotations

from collections.abc import Sequence

from seamark.families.dns.dnsendpoint import reconcile as endpoints
from seamark.families.dns.dnsendpoint.state import READY, SYNCED, Seen
from seamark.families.dns.model.entries import Row
from seamark.families.dns.model.lookups import Lookups
from seamark.families.dns.planning.orphans import Orphans
from seamark.families.dns.zone import reconcile as zones
from seamark.families.dns.zone.reconcile import programmed
from seamark.families.dns.zone.state import RecordState, SeenZone
from seamark.providers.dns.model import Answered, QueryResults, Record
from seamark_runtime.api.meta import Condition
from tests.simulation.bugs.bug import Bugs, swap

BUGS = Bugs("stale or unobserved state")


@BUGS.bug("a held record counts as served", "Ready follows what the zone holds; no resolver has got it", "dns/0/calm/")
def a_held_record_counts_as_served() -> None:
    def shown(_seen: SeenZone, record: RecordState) -> Row:
        return programmed(record.index)

    swap(zones.shown, shown)


@BUGS.bug("any answer will do", "a referral, NXDOMAIN or another record set counts as the record", "dns/0/calm/")
def any_answer_will_do() -> None:
    original = Lookups._put

    def put(self: Lookups, record: Record, _answer: Answered, now: float, moment: str) -> None:
        original(self, record, Answered(served=True), now, moment)

    swap(Lookups._put, put)


@BUGS.bug("silence is no answer", "a name server that does not respond changes nothing", "dns/0/calm/")
def silence_is_no_answer() -> None:
    original = Lookups.answered

    def answered(self: Lookups, records: Sequence[Record], found: QueryResults, now: float, moment: str) -> None:
        if found.silent:
            found = QueryResults(dict.fromkeys(records, Answered(served=True)))
        original(self, records, found, now, moment)

    swap(Lookups.answered, answered)


@BUGS.bug("a restart ends an outage", "after a restart what was Unknown in an outage is True", "dns/0/calm/")
def a_restart_ends_an_outage() -> None:
    def unread_as(_seen: Seen, _rows: tuple[Row, ...]) -> Condition:
        return READY.true("Programmed", SYNCED)

    swap(endpoints.unread_as, unread_as)


@BUGS.bug("no grace", "the records of an object that is gone without a deletion are removed at once", "dns/0/calm/")
def no_grace() -> None:
    def kept(_self: Orphans, _resource: str) -> bool:
        return False

    swap(Orphans.kept, kept)
