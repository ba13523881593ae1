"""A provider that makes other records of what objects ask for (docs/spec/dns/dnsendpoint.md, rules 64 to 67)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seamark.families.dns.model.adjustments import Forms, forms_of
from seamark.families.dns.model.desired import DesiredRecords, Problem
from seamark.families.dns.model.expiring import Expiring
from seamark.families.dns.planning.claims import Claim, ObjectClaims
from seamark.families.dns.planning.subject import Subject
from seamark.families.dns.planning.zoneplan import ZonePlan
from seamark.providers.dns.model import Content, Record
from tests.unit.operator.families.dns.zones import ZONE, claim, content, described, record, ref, rules

BALANCER = "lb-1.eu-west-1.elb.amazonaws.com"
UNDER = rules(set_identifiers=True)
CNAME = record(f"www CNAME {BALANCER}")
PROPERTIES = (("alias", "true"), ("aws/evaluate-target-health", "true"))
A = Record(CNAME.name, "A", (BALANCER,), 300, properties=PROPERTIES)
AAAA = replace(A, type="AAAA")
PLAIN = replace(CNAME, ttl=300, properties=(("alias", "false"),))
WWW = claim("www", f"www CNAME {BALANCER}")


def owner(name: str, of: str = "www", **more: object) -> Record:
    value = UNDER.values.encode({"owner": "me", "resource": ref(of).resource})
    return Record(f"{name}.{ZONE}", "TXT", (value,), 300, **more)  # type: ignore[arg-type]  # fields of a record


def zone(answers: dict[Record, Forms], held: Content, *claims: Claim, **others: ObjectClaims) -> ZonePlan:
    made = ZonePlan(ZONE, UNDER)
    made.adjusted = Expiring(100)
    for wanted, forms in answers.items():
        made.adjusted.put(wanted, forms, 0.0, refused=not forms)
    objects = {one.ref: ObjectClaims(one.ref, (one,)) for one in claims}
    objects |= {other.ref: other for other in others.values()}
    made.follow(held, objects, UNDER.sources)
    return made


HELD = {
    "of ExternalDNS 0.22": content(A, AAAA, owner("a-www"), owner("aaaa-www")),
    "of ExternalDNS before it": content(A, AAAA, owner("cname-www"), owner("aaaa-www")),
}


def test_an_alias_is_made_of_all_its_records_each_with_its_owner() -> None:
    made = zone({CNAME: (A, AAAA)}, content(), WWW)
    assert described(made.changes) == [
        f"create www A {BALANCER}",
        "create a-www owner",
        f"create www AAAA {BALANCER}",
        "create aaaa-www owner",
    ]
    assert {part.record.type: part.record.properties for change in made.changes for part in change.parts} == {
        "A": PROPERTIES,
        "AAAA": PROPERTIES,
        "TXT": PROPERTIES,
    }


@pytest.mark.parametrize("held", HELD.values(), ids=list(HELD))
def test_an_alias_of_external_dns_is_taken_over_without_a_change(held: Content) -> None:
    made = zone({CNAME: (A, AAAA)}, held, WWW)
    assert made.changes == ()
    assert made.name(CNAME.name).decisions[WWW.id].in_place


@pytest.mark.parametrize("held", HELD.values(), ids=list(HELD))
def test_no_ownership_record_goes_before_the_provider_has_been_asked(held: Content) -> None:
    assert zone({}, held, WWW).changes == ()


@pytest.mark.parametrize("held", HELD.values(), ids=list(HELD))
def test_no_ownership_record_goes_because_the_provider_refuses_the_record(held: Content) -> None:
    made = zone({CNAME: ()}, held, WWW)
    assert made.changes == ()
    assert made.name(CNAME.name).decisions[WWW.id].reason == "Refused"


def test_no_ownership_record_goes_because_the_record_is_refused_for_now() -> None:
    """The object is not marked yet: what it has stays, in whatever form."""
    waiting = replace(WWW, settled=False)
    assert zone({CNAME: (A, AAAA)}, HELD["of ExternalDNS 0.22"], waiting).changes == ()


@pytest.mark.parametrize("held", HELD.values(), ids=list(HELD))
def test_a_deleted_alias_goes_with_all_its_records(held: Content) -> None:
    made = zone({}, held)
    gone = {part.record.slot for change in made.changes for part in change.parts if part.after is None}
    assert gone == {known.slot for known in held}


def test_an_object_that_became_invalid_keeps_its_alias() -> None:
    problem = Problem(0, "Invalid", "spec.endpoints[0].targets: no", CNAME.slot)
    subject = Subject(WWW.ref, "uid", 2, DesiredRecords(problems=(problem,)), {})
    made = zone({}, HELD["of ExternalDNS 0.22"], www=subject.claims_in(ZONE))
    assert made.changes == ()


def test_a_cname_that_becomes_an_alias_is_replaced_in_one_change() -> None:
    held = content(replace(PLAIN, targets=("old.example.net",)), owner("cname-www"))
    [change] = zone({CNAME: (A, AAAA)}, held, WWW).changes
    assert sorted(described([change])) == [
        "create a-www owner",
        "create aaaa-www owner",
        f"create www A {BALANCER}",
        f"create www AAAA {BALANCER}",
        "delete cname-www owner",
        "delete www CNAME",
    ]


def test_an_alias_that_becomes_a_cname_is_replaced_in_one_change() -> None:
    target = claim("www", "www CNAME www.example.net")
    plain = replace(PLAIN, targets=("www.example.net",))
    [change] = zone({target.record: (plain,)}, HELD["of ExternalDNS 0.22"], target).changes
    assert sorted(described([change])) == [
        "create cname-www owner",
        "create www CNAME www.example.net",
        "delete a-www owner",
        "delete aaaa-www owner",
        "delete www A",
        "delete www AAAA",
    ]


def test_an_alias_beside_records_that_are_not_ours_is_refused() -> None:
    made = zone({CNAME: (A, AAAA)}, content(record("www AAAA 2001:db8::1")), WWW)
    assert made.changes == ()
    assert made.name(CNAME.name).decisions[WWW.id].reason == "NotOwned"


def test_a_property_that_the_provider_lists_and_no_object_has_is_removed() -> None:
    """Also where ExternalDNS has set it, and no ownership record names it."""
    proxied = record("www A 192.0.2.1", ttl=300)
    held = content(replace(proxied, properties=(("cloudflare-proxied", "true"),)), owner("a-www"))
    wanted = claim("www", "www A 192.0.2.1")
    [change] = zone({wanted.record: (wanted.record,)}, held, wanted).changes
    assert change.parts[0].without == {"cloudflare-proxied"}
    assert len(change.parts) == 1


def test_a_record_with_properties_is_taken_over_without_a_change() -> None:
    weighted = replace(record("www A 192.0.2.1", ttl=300), set_identifier="a", properties=(("aws/weight", "10"),))
    held = content(weighted, owner("a-www", set_identifier="a", properties=(("aws/weight", "10"),)))
    wanted = replace(weighted, ttl=0)
    assert zone({wanted: (wanted,)}, held, replace(WWW, record=wanted)).changes == ()


def test_a_changed_weight_is_changed_in_the_ownership_record_too() -> None:
    weighted = replace(record("www A 192.0.2.1", ttl=300), set_identifier="a", properties=(("aws/weight", "10"),))
    held = content(weighted, owner("a-www", set_identifier="a", properties=(("aws/weight", "10"),)))
    wanted = replace(weighted, properties=(("aws/weight", "20"),))
    [change] = zone({wanted: (wanted,)}, held, replace(WWW, record=wanted)).changes
    assert [part.after and dict(part.after.properties) for part in change.parts] == [{"aws/weight": "20"}] * 2


@pytest.mark.parametrize(
    ("sent", "answers", "forms"),
    [
        ([CNAME], [A, AAAA], {CNAME: (A, AAAA)}),
        ([CNAME], [PLAIN], {CNAME: (PLAIN,)}),
        ([CNAME], [], {CNAME: ()}),
        ([CNAME], [replace(A, name=f"evil.{ZONE}")], {CNAME: ()}),
        ([A], [AAAA, A], {A: (A, AAAA)}),
        ([A, AAAA], [AAAA, A], {A: (A,), AAAA: (AAAA,)}),
        ([replace(A, set_identifier="x")], [A], {replace(A, set_identifier="x"): (A,)}),
    ],
    ids=["longer", "the same", "shorter", "another name", "one more", "in another order", "no set identifier"],
)
def test_answers_are_matched_with_what_they_are_about(
    sent: list[Record], answers: list[Record], forms: dict[Record, Forms]
) -> None:
    assert forms_of(sent, answers) == forms
