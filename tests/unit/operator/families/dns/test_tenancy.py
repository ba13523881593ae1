"""A name stays its namespace's for a while after its last object is gone (docs/spec/dns/dnsendpoint.md, rule 38)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from seamark.api.dns import DNSEndpoint, DNSEndpointSpec, DNSEndpointStatus, Endpoint, EndpointStatus
from seamark.families.dns.family import DNS_ENDPOINT, controllers
from seamark.families.dns.model.desired import Problem
from seamark.families.dns.model.indexes import SpecReader
from seamark.families.dns.model.options import Intervals, Options
from seamark.families.dns.planning.claims import Decision
from seamark.families.dns.planning.subject import Subject
from seamark.families.dns.zone.ledger import Ledger
from seamark.families.dns.zone.subjects import EndpointSubjects
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import Content
from seamark_runtime.api.meta import ObjectMeta
from tests.unit.operator.families.dns.zones import ZONE, claim, content, described, owned, ref, rules, subject
from tests.unit.runtime.small_world import SmallWorld
from tests.virtual_time import elapsed, run

CRD = frozenset(("crd",))
WWW = "www A 192.0.2.1"
HOLD = 600.0
KEPT = f"www.{ZONE} A is kept for another namespace until it has been free for 10 minutes"
TAKEN = f"www.{ZONE} A is already claimed by a DNSEndpoint in another namespace"
MINE, THEIRS = "tenant-b/www", "tenant-a/thief"


def claiming(who: str, text: str = WWW, *, refused: bool = False, **more: Any) -> Subject:
    return subject(replace(claim(who, text), refused=refused), **more)


def fresh() -> EndpointSubjects:
    return EndpointSubjects(rules(), SpecReader(rules()))


def decision(ledger: Ledger, who: str, name: str = "www") -> Decision:
    return ledger.plan.name(f"{name}.{ZONE}").decisions[(ref(who), 0)]


def served(*who: str, text: str = WWW) -> tuple[Ledger, Content]:
    """A ledger of a zone in which tenant-b's record is served, and tenant-a's claim to it is refused."""
    ledger, holds = Ledger(ZONE, rules()), content(owned(MINE, text))
    ledger.follow(holds, {ref(name): claiming(name, text) for name in who}, CRD, 0.0)
    return ledger, holds


def test_a_refused_claim_does_not_get_the_name_while_its_holder_replaces_the_object() -> None:
    ledger, holds = served(MINE, THEIRS)
    assert decision(ledger, THEIRS).message == TAKEN
    ledger.follow(holds, {ref(MINE): claiming(MINE, deleting=True)}, CRD, 1000.0)
    assert described(ledger.plan.changes) == ["delete www A", "delete a-www owner"]
    assert (decision(ledger, THEIRS).reason, decision(ledger, THEIRS).message) == ("Conflict", KEPT)
    gone = holds.replaced(2, {})
    ledger.follow(gone, {ref(MINE): None}, CRD, 1001.0)
    assert (ledger.plan.changes, decision(ledger, THEIRS).message) == ((), KEPT)
    ledger.follow(gone, {ref(MINE): claiming(MINE)}, CRD, 1002.0)
    assert described(ledger.plan.changes) == ["create www A 192.0.2.1", "create a-www owner"]
    assert (decision(ledger, MINE).reason, decision(ledger, THEIRS).message) == ("", TAKEN)


def test_another_object_of_the_same_namespace_has_the_name_at_once() -> None:
    ledger, holds = served(MINE, THEIRS)
    ledger.follow(holds, {ref(MINE): None, ref("tenant-b/other"): claiming("tenant-b/other")}, CRD, 1000.0)
    assert decision(ledger, "tenant-b/other").reason == ""
    assert decision(ledger, THEIRS).message == TAKEN


def test_when_the_hold_ends_who_waits_gets_the_name() -> None:
    ledger, holds = served(MINE, THEIRS)
    gone = holds.replaced(2, {})
    ledger.follow(gone, {ref(MINE): None}, CRD, 1000.0)
    assert ledger.plan.next_end == 1000.0 + HOLD
    ledger.follow(gone, {}, CRD, 999.0 + HOLD)
    assert decision(ledger, THEIRS).message == KEPT
    ledger.published(list(ledger.unpublished))
    ledger.follow(gone, {}, CRD, 1000.0 + HOLD)
    assert (decision(ledger, THEIRS).reason, list(ledger.unpublished)) == ("", [ref(THEIRS)])
    assert ledger.plan.next_end == float("inf")


def test_a_new_claim_waits_for_a_released_name_as_an_old_one_does() -> None:
    ledger, holds = served(MINE)
    gone = holds.replaced(2, {})
    ledger.follow(gone, {ref(MINE): None}, CRD, 1000.0)
    ledger.follow(gone, {ref(THEIRS): claiming(THEIRS)}, CRD, 1100.0)
    assert decision(ledger, THEIRS).message == KEPT


def test_a_name_that_is_released_again_is_held_for_the_whole_time_again() -> None:
    ledger, holds = served(MINE, THEIRS)
    gone = holds.replaced(2, {})
    ledger.follow(gone, {ref(MINE): None}, CRD, 1000.0)
    ledger.follow(gone, {ref(MINE): claiming(MINE)}, CRD, 1300.0)
    ledger.follow(gone, {ref(MINE): None}, CRD, 1500.0)
    assert ledger.plan.next_end == 1500.0 + HOLD
    assert decision(ledger, THEIRS).message == KEPT


def test_a_name_below_a_wildcard_that_is_replaced_stays_that_namespaces() -> None:
    ledger, holds = Ledger(ZONE, rules()), content(owned("tenant-b/wild", "*.b A 192.0.2.1"))
    wild, below = claiming("tenant-b/wild", "*.b A 192.0.2.1"), claiming(THEIRS, "x.b A 192.0.2.6")
    ledger.follow(holds, {wild.ref: wild, below.ref: below}, CRD, 0.0)
    gone = holds.replaced(2, {})
    ledger.follow(gone, {wild.ref: None}, CRD, 1000.0)
    covered = f"x.b.{ZONE} A is below a wildcard record of another namespace"
    assert decision(ledger, THEIRS, "x.b").message == covered
    ledger.follow(gone, {}, CRD, 1000.0 + HOLD)
    assert decision(ledger, THEIRS, "x.b").reason == ""


def test_a_name_about_a_host_stays_that_namespaces_while_the_host_is_replaced() -> None:
    """Rule 41."""
    ledger, holds = served(MINE)
    challenge = claiming(THEIRS, "_acme-challenge.www CNAME tok.evil.test")
    gone = holds.replaced(2, {})
    ledger.follow(gone, {ref(MINE): None, challenge.ref: challenge}, CRD, 1000.0)
    about = f"_acme-challenge.www.{ZONE} CNAME is about a name of another namespace"
    assert decision(ledger, THEIRS, "_acme-challenge.www").message == about
    ledger.follow(gone, {}, CRD, 1000.0 + HOLD)
    assert decision(ledger, THEIRS, "_acme-challenge.www").reason == ""
    ledger.follow(gone, {ref(MINE): claiming(MINE)}, CRD, 1001.0 + HOLD)
    assert decision(ledger, THEIRS, "_acme-challenge.www").message == about


def test_a_name_that_was_there_before_the_wildcard_above_it_can_be_replaced() -> None:
    ledger = Ledger(ZONE, rules())
    holds = content(owned(MINE, "x.b A 192.0.2.1"), owned("tenant-a/wild", "*.b A 192.0.2.2"))
    name, wild = claiming(MINE, "x.b A 192.0.2.1"), claiming("tenant-a/wild", "*.b A 192.0.2.2")
    ledger.follow(holds, {name.ref: name, wild.ref: wild}, CRD, 0.0)
    gone = content(owned("tenant-a/wild", "*.b A 192.0.2.2"))
    ledger.follow(gone, {ref(MINE): None}, CRD, 1000.0)
    for moment in (1001.0, 1002.0):  # marked in two steps
        ledger.follow(gone, {ref(MINE): replace(name, generation=int(moment))}, CRD, moment)
        assert decision(ledger, MINE, "x.b").reason == ""


def test_a_record_that_has_become_invalid_keeps_its_name() -> None:
    """Rule 7: what stands under it is let alone, however long it takes."""
    ledger, holds = served(MINE, THEIRS)
    wrong = claiming(MINE)
    problem = Problem(0, "Invalid", "wrong", (f"www.{ZONE}", "A", ""))
    wrong = replace(wrong, claims={}, desired=replace(wrong.desired, records=(), problems=(problem,)))
    for moment in (1000.0, 1000.0 + 2 * HOLD):
        ledger.follow(holds, {ref(MINE): wrong}, CRD, moment)
        assert (ledger.plan.changes, decision(ledger, THEIRS).message) == ((), KEPT)


def test_a_refused_claim_does_not_keep_the_records_of_a_going_object() -> None:
    """Rule 25: tenant-b has two objects at the name, one of which goes."""
    holds = content(owned(MINE, WWW), owned("tenant-b/six", "www AAAA 2001:db8::1"))
    ledger = Ledger(ZONE, rules())
    six = claiming("tenant-b/six", "www AAAA 2001:db8::1")
    ledger.follow(
        holds, {ref(MINE): claiming(MINE, deleting=True), six.ref: six, ref(THEIRS): claiming(THEIRS)}, CRD, 0.0
    )
    assert described(ledger.plan.changes) == ["delete www A", "delete a-www owner"]


@pytest.mark.parametrize("more", [{"shared_names": True}, {"hold": 0.0}])
def test_where_names_are_shared_or_no_time_is_set_no_claim_waits(more: dict[str, Any]) -> None:
    ledger = Ledger(ZONE, rules(**more))
    ledger.follow(
        content(owned(MINE, WWW)), {ref(MINE): claiming(MINE), ref(THEIRS): claiming(THEIRS, refused=True)}, CRD, 0.0
    )
    ledger.follow(content(), {ref(MINE): None}, CRD, 1000.0)
    assert decision(ledger, THEIRS).reason == ""


# ---- after a restart


def test_after_a_restart_a_claim_that_was_refused_before_waits_for_one_hold_time() -> None:
    ledger, empty = Ledger(ZONE, rules()), content()
    ledger.follow(None, {ref(THEIRS): claiming(THEIRS, refused=True)}, CRD, 50.0)
    ledger.follow(empty, {}, CRD, 100.0)
    assert (decision(ledger, THEIRS).message, ledger.plan.next_end) == (KEPT, 100.0 + HOLD)
    ledger.follow(empty, {ref(MINE): claiming(MINE)}, CRD, 200.0)
    assert (decision(ledger, MINE).reason, decision(ledger, THEIRS).message) == ("", TAKEN)
    ledger.follow(empty, {ref(MINE): None}, CRD, 300.0)
    ledger.follow(empty, {}, CRD, 100.0 + HOLD)
    assert decision(ledger, THEIRS).message == KEPT
    ledger.follow(empty, {}, CRD, 300.0 + HOLD)
    assert decision(ledger, THEIRS).reason == ""


def test_after_a_restart_a_refused_claim_gets_the_name_when_no_other_claim_was_made() -> None:
    ledger, empty = Ledger(ZONE, rules()), content()
    ledger.follow(empty, {ref(THEIRS): claiming(THEIRS, refused=True)}, CRD, 100.0)
    ledger.follow(empty, {}, CRD, 100.0 + HOLD)
    assert (decision(ledger, THEIRS).reason, ledger.plan.next_end) == ("", float("inf"))


def test_after_a_restart_the_message_about_a_refused_claim_stays_the_same() -> None:
    ledger, holds = Ledger(ZONE, rules()), content(owned(MINE, WWW))
    ledger.follow(holds, {ref(MINE): claiming(MINE), ref(THEIRS): claiming(THEIRS, refused=True)}, CRD, 0.0)
    assert decision(ledger, THEIRS).message == TAKEN


def test_after_a_restart_the_namespace_of_the_record_has_the_name() -> None:
    ledger, holds = Ledger(ZONE, rules()), content(owned(MINE, WWW))
    ledger.follow(holds, {ref(MINE): claiming(MINE, deleting=True), ref(THEIRS): claiming(THEIRS)}, CRD, 0.0)
    assert decision(ledger, THEIRS).message == KEPT
    ledger.follow(holds, {ref(MINE): claiming(MINE, refused=True)}, CRD, 1.0)
    assert decision(ledger, MINE).in_place


def test_after_a_restart_a_claim_that_another_object_of_its_namespace_kept_out_is_judged_as_before() -> None:
    ledger = Ledger(ZONE, rules())
    loser = claiming("tenant-b/alias", "www CNAME x.test", refused=True)
    ledger.follow(content(owned(MINE, WWW)), {ref(MINE): claiming(MINE), loser.ref: loser}, CRD, 0.0)
    assert decision(ledger, "tenant-b/alias").message == "a CNAME can't be beside the A record of DNSEndpoint www"
    ledger.follow(content(), {ref(MINE): None}, CRD, 1.0)
    assert decision(ledger, "tenant-b/alias").reason == ""


def endpoint(*rows: EndpointStatus) -> DNSEndpoint:
    names = (f"WWW.{ZONE}", f"api.{ZONE}")
    spec = DNSEndpointSpec(
        endpoints=tuple(Endpoint(dns_name=n, record_type="A", targets=("192.0.2.1",)) for n in names)
    )
    return DNSEndpoint(
        metadata=ObjectMeta(name="x", namespace="a", uid="u"), spec=spec, status=DNSEndpointStatus(endpoints=rows)
    )


def test_what_an_earlier_run_has_refused_is_read_from_the_status_once() -> None:
    subjects = fresh()
    row = EndpointStatus(dns_name=f"WWW.{ZONE}", record_type="A", state="NotAccepted", reason="Conflict")
    first = subjects.subject(endpoint(row)).claims[ZONE]
    assert [each.refused for each in first] == [True, False]
    assert subjects.subject(endpoint()).claims[ZONE] == first
    assert [each.refused for each in fresh().subject(endpoint()).claims[ZONE]] == [
        False,
        False,
    ]
    many = [replace_row(row, f"n{number}.{ZONE}") for number in range(100)]
    assert [each.refused for each in fresh().subject(endpoint(*many)).claims[ZONE]] == [True, True]


def replace_row(row: EndpointStatus, name: str) -> EndpointStatus:
    return EndpointStatus(dns_name=name, record_type=row.record_type, state=row.state, reason=row.reason)


# ---- with the operator, on a virtual clock


def test_the_operator_gives_the_name_to_who_waits_when_the_hold_has_ended_and_writes_nothing_before() -> None:
    provider = MemoryProvider((ZONE,))
    declared = controllers(
        Options(rules(types=frozenset(("A",))), Intervals(spacing=0.05, poll=3600.0, shelf_life=7200.0)), provider
    )

    async def play() -> None:
        small = SmallWorld(DNS_ENDPOINT)
        await small.prepare()
        for tenant in ("tenant-a", "tenant-b"):
            small.store.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": tenant}})
        async with small.operating(*declared):
            await make(small, MINE, "192.0.2.1")
            await asyncio.sleep(10)
            await make(small, THEIRS, "192.0.2.6")
            await asyncio.sleep(10)
            await small.ask("DELETE", str(DNSEndpoint.RESOURCE.path(*MINE.split("/"))))
            await asyncio.sleep(10)
            assert not provider.content(ZONE).names
            assert await message(small, THEIRS) == KEPT
            began, writes = elapsed(), len(small.writes())
            await asyncio.sleep(HOLD - 30)
            assert (len(small.writes()), provider.content(ZONE).at(f"www.{ZONE}")) == (writes, ())
            await asyncio.sleep(30)
            assert elapsed() - began == HOLD
            assert provider.content(ZONE).at(f"www.{ZONE}")[0].targets == ("192.0.2.6",)
            assert await message(small, THEIRS) == "All records are accepted"

    run(play())


async def make(small: SmallWorld, who: str, target: str) -> None:
    namespace, name = who.split("/")
    record = {"dnsName": f"www.{ZONE}", "recordType": "A", "targets": [target]}
    body = {"apiVersion": DNSEndpoint.RESOURCE.api_version, "kind": "DNSEndpoint", "metadata": {"name": name}}
    await small.ask("POST", str(DNSEndpoint.RESOURCE.path(namespace)), {**body, "spec": {"endpoints": [record]}})


async def message(small: SmallWorld, who: str) -> str:
    found = await small.ask("GET", str(DNSEndpoint.RESOURCE.path(*who.split("/"))))
    (accepted,) = [condition for condition in found["status"]["conditions"] if condition["type"] == "Accepted"]
    return str(accepted["message"])
