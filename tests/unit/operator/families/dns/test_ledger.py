"""A zone's plan is kept up with what changes, and is always the plan that would be made from nothing."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from seamark.families.dns.model.desired import DesiredRecords, Problem
from seamark.families.dns.model.entries import Ref
from seamark.families.dns.model.rules import Policy, Rules
from seamark.families.dns.planning import zoneplan
from seamark.families.dns.planning.claims import Claim, ObjectClaims
from seamark.families.dns.planning.subject import Subject
from seamark.families.dns.planning.zoneplan import ZonePlan
from seamark.families.dns.zone.ledger import Ledger, ServerState
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import Change, Content, QueryResults, Record
from seamark.providers.dns.txt import Names
from tests.answering import SERVED
from tests.unit.operator.families.dns.zones import ZONE, claim, content, described, owned, record, ref, rules, subject

CRD = frozenset(("crd",))
WHO = st.sampled_from(["a", "b", "other/c", "third/d"])
TEXTS = [
    *("www A 192.0.2.1", "www A 192.0.2.1,192.0.2.2", "www CNAME x.test", "www AAAA 2001:db8::1", "api A 192.0.2.3"),
    *("*.w A 192.0.2.4", "p.w A 192.0.2.5", "*.q.w A 192.0.2.6", "r.q.w CNAME x.test"),  # wildcards, names below them
    *("a-api CNAME x.test", "a-api TXT hello", "own-a-api NS x.test"),  # names of ownership records
    *("_x.w TXT hello", "_x.q.w A 192.0.2.8", "*._x.w A 192.0.2.9", "* A 192.0.2.1"),  # names about others
    *("w NS x.test", "q.w NS x.test", "w DNAME y.test", "w A 192.0.2.7"),  # cuts above other names
]
TEXT = st.sampled_from(TEXTS)
UNDER = st.sampled_from(  # without a hold time: names that were released lately are memory (test_tenancy.py)
    [
        rules(hold=0.0),
        rules(hold=0.0, names=Names(prefix="own-")),
        rules(hold=0.0, policy=Policy.UPSERT_ONLY),
        rules(hold=0.0, registry="noop"),
        rules(hold=0.0, formerly=("them",)),
    ]
)


@st.composite
def subjects(draw: st.DrawFn) -> tuple[str, Subject | None]:
    who = draw(WHO)
    kind = draw(st.sampled_from(["desires", "deleting", "hidden", "unsettled", "problem", "gone"]))
    texts = draw(st.lists(TEXT, max_size=2, unique=True))
    created = draw(st.sampled_from(["2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"]))
    if kind == "gone" or not texts:
        return who, None
    claims = [
        replace(
            claim(who, text, index=number, ttl=draw(st.sampled_from([0, 60])), settled=kind != "unsettled"),
            created=created,
        )
        for number, text in enumerate(texts)
    ]
    made = subject(*claims, deleting=kind == "deleting", hidden=kind == "hidden", settled=kind != "unsettled")
    if kind != "problem":
        return who, made
    slot = draw(st.sampled_from([None, (f"api.{ZONE}", "A", "")]))
    wanted = DesiredRecords(made.desired.records, (Problem(9, "Invalid", "wrong", slot),))
    return who, Subject(made.ref, made.uid, made.generation, wanted, made.claims)


STANDING = st.sampled_from([text for text in TEXTS if " TXT " not in text])  # a TXT record may be an ownership record
HELD = st.lists(
    st.tuples(WHO, STANDING, st.sampled_from(["me", "them", "nobody", "older"])),
    max_size=3,
    unique_by=lambda entry: entry[1],
)


def holding(provider: MemoryProvider, under: Rules, held: list[tuple[str, str, str]]) -> Content:
    """Makes the zone hold exactly this, name by name, as a server would."""
    for standing in list(provider.content(ZONE)):
        provider.remove(standing.name, standing.type)
    for who, text, owner in held:
        standing, txt = owned(who, text, owner="me" if owner == "older" else owner, under=under)
        provider.put(standing)
        place = under.names.older(standing.name, standing.type) if owner == "older" else txt.name
        if owner != "nobody" and place is not None:
            provider.put(Record(place, "TXT", txt.targets, 300))
    return provider.content(ZONE)


def shown(plan: ZonePlan, names: set[str]) -> object:
    return (
        sorted(described(plan.changes)),
        {who: decision for name in names for who, decision in plan.name(name).decisions.items()},
        {slot: str(change) for slot, change in plan.at.items()},
        (dict(+plan.held), dict(+plan.in_place)),
    )


@given(UNDER, st.lists(st.one_of(subjects(), HELD), min_size=1, max_size=8))
def test_whatever_changes_in_whatever_order_the_plan_is_the_one_made_from_nothing(
    under: Rules, steps: list[tuple[str, Subject | None] | list[tuple[str, str, str]]]
) -> None:
    provider = MemoryProvider((ZONE,))
    ledger, now = Ledger(ZONE, under), dict[Ref, Subject]()
    for step in steps:
        changed: dict[Ref, Subject | None] = {}
        if isinstance(step, list):
            holding(provider, under, step)
        else:
            who, made = step
            changed[ref(who)] = made
            now.pop(ref(who), None)
            if made is not None:
                now[ref(who)] = made
        ledger.follow(provider.content(ZONE), changed, CRD)
        fresh = Ledger(ZONE, under)
        fresh.follow(Content(ZONE, 1, dict(provider.content(ZONE).names)), now, CRD)
        names = {f"{text.split()[0]}.{ZONE}" for text in TEXTS}
        assert shown(ledger.plan, names) == shown(fresh.plan, names)
        assert ledger.subjects == fresh.subjects
        assert dict(+ledger.desired) == dict(+fresh.desired)
        for claiming in now.values():
            assert ledger.plan.left(claiming.claims_in(ZONE)) == fresh.plan.left(claiming.claims_in(ZONE))


def decision(ledger: Ledger, who: str, name: str) -> str:
    """The reason why a claim is refused; empty where it is not."""
    return ledger.plan.name(f"{name}.{ZONE}").decisions[(ref(who), 0)].reason


def test_a_name_is_planned_anew_when_the_wildcard_above_it_goes_or_comes() -> None:
    ledger = Ledger(ZONE, rules(hold=0.0))
    wild, below = subject(claim("b/wild", "*.w A 192.0.2.1")), subject(claim("a/x", "p.q.w A 192.0.2.2"))
    holds = content(owned("b/wild", "*.w A 192.0.2.1"))
    ledger.follow(holds, {ref("b/wild"): wild, ref("a/x"): below}, CRD)
    assert decision(ledger, "a/x", "p.q.w") == "Conflict"
    ledger.published(list(ledger.unpublished))
    empty = holds.replaced(2, {})
    ledger.follow(empty, {ref("b/wild"): None}, CRD)
    assert decision(ledger, "a/x", "p.q.w") == ""
    assert ref("a/x") in ledger.unpublished
    ledger.follow(empty, {ref("b/wild"): wild}, CRD)
    assert decision(ledger, "a/x", "p.q.w") == "Conflict"


def test_a_change_of_a_wildcard_that_stays_its_namespaces_concerns_no_name_below_it() -> None:
    ledger = Ledger(ZONE, rules(hold=0.0))
    wild, below = subject(claim("b/wild", "*.w A 192.0.2.1")), subject(claim("a/x", "p.w A 192.0.2.2"))
    holds = content(owned("b/wild", "*.w A 192.0.2.1"))
    ledger.follow(holds, {ref("b/wild"): wild, ref("a/x"): below}, CRD)
    ledger.published(list(ledger.unpublished))
    ledger.follow(holds, {ref("b/wild"): subject(claim("b/wild", "*.w A 192.0.2.7"))}, CRD)
    assert set(ledger.unpublished) == {ref("b/wild")}


def test_a_record_is_planned_anew_when_the_name_of_its_ownership_record_is_free() -> None:
    ledger = Ledger(ZONE, rules())
    alias, address = subject(claim("b/alias", "a-api CNAME x.test")), subject(claim("a/api", "api A 192.0.2.3"))
    holds = content(owned("b/alias", "a-api CNAME x.test"))
    ledger.follow(holds, {ref("b/alias"): alias, ref("a/api"): address}, CRD)
    assert (decision(ledger, "b/alias", "a-api"), decision(ledger, "a/api", "api")) == ("", "Conflict")
    ledger.follow(holds.replaced(2, {}), {ref("b/alias"): None}, CRD)
    assert decision(ledger, "a/api", "api") == ""


def test_a_claim_to_the_name_of_an_ownership_record_is_planned_anew_when_that_comes_or_goes() -> None:
    ledger = Ledger(ZONE, rules())
    alias, address = subject(claim("b/alias", "a-api CNAME x.test")), subject(claim("a/api", "api A 192.0.2.3"))
    ledger.follow(content(), {ref("b/alias"): alias}, CRD)
    assert decision(ledger, "b/alias", "a-api") == ""
    ledger.follow(None, {ref("a/api"): address}, CRD)
    assert decision(ledger, "b/alias", "a-api") == "Conflict"
    ledger.follow(None, {ref("a/api"): None}, CRD)
    assert decision(ledger, "b/alias", "a-api") == ""


def settled(count: int) -> tuple[Ledger, MemoryProvider]:
    """So many objects with a record each, all in place, answered by the name servers, and published."""
    provider = MemoryProvider((ZONE,))
    ledger = Ledger(ZONE, rules())
    for number in range(count):
        for held in owned(f"o{number}", f"h{number} A 192.0.2.1"):
            provider.put(held)
    ledger.follow(
        provider.content(ZONE),
        {ref(f"o{number}"): subject(claim(f"o{number}", f"h{number} A 192.0.2.1")) for number in range(count)},
        CRD,
    )
    while ledger.plan.backlog:
        ledger.published(())
        ledger.follow(provider.content(ZONE), {}, CRD)
    ledger.lookups.pass_time(0.0)
    asked = ledger.lookups.batch
    ledger.lookups.answered(asked, QueryResults(dict.fromkeys(asked, SERVED)), 0.0, "2026-01-01T00:00:00Z")
    ledger.responded(ServerState(), {})
    ledger.published(list(ledger.unpublished))
    return ledger, provider


def test_a_change_of_one_object_concerns_that_one_and_who_shares_its_names() -> None:
    ledger, provider = settled(50)
    late = subject(claim("late", "h7 A 192.0.2.9", ttl=60))
    ledger.follow(provider.content(ZONE), {ref("late"): late}, CRD)
    assert set(ledger.unpublished) == {ref("late"), ref("o7")}
    ledger.published(list(ledger.unpublished))
    provider.remove(f"h3.{ZONE}", "A")
    ledger.follow(provider.content(ZONE), {}, CRD)
    assert set(ledger.unpublished) == {ref("o3")}
    assert described(ledger.plan.changes) == ["create h3 A 192.0.2.1"]


def test_what_was_not_published_stays_unpublished() -> None:
    ledger, provider = settled(3)
    provider.remove(f"h1.{ZONE}", "A")
    ledger.follow(provider.content(ZONE), {}, CRD)
    ledger.follow(provider.content(ZONE), {}, CRD)
    assert set(ledger.unpublished) == {ref("o1")}


def test_a_response_about_the_zone_concerns_all_objects_and_about_a_record_those_that_name_it() -> None:
    ledger, _ = settled(5)
    refused = Change((f"h2.{ZONE}", "A", ""), ())
    ledger.responded(ServerState(known=True, fresh=True), {})
    assert len(ledger.unpublished) == 5
    ledger.published(list(ledger.unpublished))
    ledger.responded(ServerState(known=True, fresh=True), {})
    assert not ledger.unpublished
    ledger.responded(ServerState(known=True, fresh=True, trouble="no answer"), {refused: "REFUSED"})
    assert len(ledger.unpublished) == 5


def test_a_source_that_is_empty_from_the_start_deletes_nothing() -> None:
    holds = content(owned("a", "www A 192.0.2.1"), owned("b", "api A 192.0.2.1"))
    plan = ZonePlan(ZONE, rules())
    plan.follow(holds, {}, frozenset())
    assert plan.changes == ()
    plan.follow(holds, {}, CRD)
    assert sorted(described(plan.changes)) == [
        "delete a-api owner",
        "delete a-www owner",
        "delete api A",
        "delete www A",
    ]


def test_a_large_change_is_planned_and_published_in_parts() -> None:
    ledger, provider = Ledger(ZONE, rules()), MemoryProvider((ZONE,))
    count = 3 * zoneplan.AT_ONCE
    objects: dict[Ref, Subject | None] = {
        ref(f"o{number}"): subject(claim(f"o{number}", f"h{number} A 192.0.2.1")) for number in range(count)
    }
    ledger.follow(provider.content(ZONE), objects, CRD)
    assert ledger.more
    assert len(ledger.plan.changes) == len(ledger.publishable()) == zoneplan.AT_ONCE  # and not more than planned
    for _ in range(2):
        ledger.published(ledger.publishable())
        ledger.follow(provider.content(ZONE), {}, CRD)
    assert len(ledger.plan.changes) == count
    ledger.published(ledger.publishable())
    assert not ledger.more
    assert not ledger.unpublished


def test_what_was_planned_for_a_name_that_has_changed_stands_no_more() -> None:
    ledger, provider = settled(zoneplan.AT_ONCE + 50)
    for number in range(zoneplan.AT_ONCE + 50):
        provider.remove(f"h{number}.{ZONE}", "A")
    last = f"h{zoneplan.AT_ONCE + 49}.{ZONE}"
    ledger.follow(provider.content(ZONE), {}, CRD)
    assert last in ledger.plan.backlog
    assert ledger.plan.name(last).decisions == {}
    assert len(ledger.plan.changes) == zoneplan.AT_ONCE


def test_following_the_same_facts_again_changes_nothing_until_the_entries_are_published() -> None:
    ledger, provider = Ledger(ZONE, rules()), MemoryProvider((ZONE,))
    objects: dict[Ref, Subject | None] = {
        ref(f"o{number}"): subject(claim(f"o{number}", f"h{number} A 192.0.2.1"))
        for number in range(zoneplan.AT_ONCE + 50)
    }
    ledger.follow(provider.content(ZONE), objects, CRD)
    ledger.follow(provider.content(ZONE), {}, CRD)
    assert len(ledger.plan.changes) == len(ledger.publishable()) == zoneplan.AT_ONCE
    assert ledger.publishable() == ledger.publishable()
    ledger.published(ledger.publishable())
    ledger.follow(provider.content(ZONE), {}, CRD)
    assert len(ledger.plan.changes) == zoneplan.AT_ONCE + 50
    assert len(ledger.publishable()) == 50


def test_what_an_object_had_that_is_gone_without_a_deletion_stays_for_the_grace() -> None:
    """Rule 53."""
    holds = content(owned("a", "www A 192.0.2.1"), owned("b", "api A 192.0.2.2"))
    plan = ZonePlan(ZONE, rules(hold=0.0, sweep_grace=60.0))
    other = subject(claim("b", "api A 192.0.2.2")).claims_in(ZONE)
    plan.follow(holds, {ref("b"): other}, CRD, now=100.0)
    assert plan.changes == ()
    assert plan.next_end == 160.0
    plan.follow(holds, {}, CRD, now=159.0)
    assert plan.changes == ()
    plan.follow(holds, {}, CRD, now=160.0)
    assert sorted(described(plan.changes)) == ["delete a-www owner", "delete www A"]
    assert plan.next_end == float("inf")


def test_an_object_that_comes_back_within_the_grace_keeps_its_records_and_one_that_changes_loses_them() -> None:
    holds = content(owned("a", "www A 192.0.2.1"))
    plan = ZonePlan(ZONE, rules(hold=0.0, sweep_grace=60.0))
    plan.follow(holds, {}, CRD, now=0.0)
    again = subject(claim("a", "www A 192.0.2.1")).claims_in(ZONE)
    plan.follow(holds, {ref("a"): again}, CRD, now=30.0)
    plan.follow(holds, {}, CRD, now=100.0)
    assert plan.changes == ()
    plan.follow(holds, {ref("a"): subject(claim("a", "api A 192.0.2.1")).claims_in(ZONE)}, CRD, now=101.0)
    assert "delete www A" in described(plan.changes)


def test_the_records_of_an_object_that_can_not_be_read_stay_until_it_is_gone() -> None:
    """Rule 54."""
    holds = content(owned("a", "www A 192.0.2.1"))
    for grace in (0.0, 60.0):
        plan = ZonePlan(ZONE, rules(hold=0.0, sweep_grace=grace))
        plan.unreadable = frozenset((ref("a"),))
        plan.follow(holds, {}, CRD, now=0.0)
        plan.follow(holds, {}, CRD, now=1000.0)
        assert (plan.changes, plan.next_end) == ((), float("inf"))
        plan.unreadable = frozenset()
        plan.follow(holds, {}, CRD, now=2000.0)
        plan.follow(holds, {}, CRD, now=2000.0 + grace)
        assert sorted(described(plan.changes)) == ["delete a-www owner", "delete www A"]


def test_a_service_that_can_not_be_read_any_more_is_not_a_deleted_one() -> None:
    service = Ref("service", "ns", "web")
    both = rules(hold=0.0, sweep_grace=60.0, sources=frozenset(("crd", "service")))
    claimed = ObjectClaims(service, (Claim(service, 0, record("www A 192.0.2.1"), (), True),))
    text = both.values.encode({"owner": "me", "resource": service.resource})
    holds = content(record("www A 192.0.2.1"), Record(f"a-www.{ZONE}", "TXT", (text,), 300))
    plan = ZonePlan(ZONE, both)
    populated = frozenset(("crd", "service"))
    plan.follow(holds, {service: claimed}, populated, now=0.0)
    plan.unreadable = frozenset((service,))
    plan.follow(holds, {service: None}, populated, now=100.0)
    plan.follow(holds, {}, populated, now=1000.0)
    assert plan.changes == ()
