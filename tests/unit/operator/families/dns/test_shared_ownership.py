"""A wildcard and the name with its replacement have one ownership record (docs/spec/dns/dnsendpoint.md, rule 58)."""

from __future__ import annotations

from seamark.families.dns.planning.claims import ObjectClaims
from seamark.families.dns.planning.zoneplan import ZonePlan
from seamark.providers.dns.txt import Names
from tests.unit.operator.families.dns.zones import ZONE, claim, content, described, owned, plan, ref, rules

UNDER = rules(names=Names(wildcard="Any"))
REAL, WILDCARD = "any A 192.0.2.1", "* A 192.0.2.2"


def test_a_name_that_looks_like_the_replacement_keeps_its_owner() -> None:
    holds = content(owned("real", REAL, under=UNDER))
    made = plan(holds, claim("real", REAL), under=UNDER)
    assert made.changes == ()
    assert made.decisions[(ref("real"), 0)].in_place
    assert described(plan(holds, under=UNDER).changes) == ["delete any A", "delete a-any owner"]


def test_the_wildcard_keeps_its_owner_under_an_upper_case_replacement() -> None:
    holds = content(owned("wild", WILDCARD, under=UNDER))
    made = plan(holds, claim("wild", WILDCARD), under=UNDER)
    assert made.decisions[(ref("wild"), 0)].in_place
    assert described(plan(holds, under=UNDER).changes) == ["delete * A", "delete a-any owner"]


def test_the_first_of_the_two_keeps_the_ownership_record() -> None:
    message = f"*.{ZONE} and any.{ZONE} would have the same ownership record; choose another name"
    made = plan(
        content(owned("wild", WILDCARD, under=UNDER)), claim("wild", WILDCARD), claim("real", REAL), under=UNDER
    )
    assert made.changes == ()
    assert made.decisions[(ref("real"), 0)].reason == "Conflict"
    assert message in made.decisions[(ref("real"), 0)].message
    other = plan(content(owned("real", REAL, under=UNDER)), claim("wild", WILDCARD), claim("real", REAL), under=UNDER)
    assert other.changes == ()
    assert other.decisions[(ref("wild"), 0)].reason == "Conflict"


def test_of_two_new_ones_the_wildcard_is_served() -> None:
    made = plan(content(), claim("wild", WILDCARD), claim("real", REAL), under=UNDER)
    assert described(made.changes) == ["create * A 192.0.2.2", "create a-any owner"]
    assert made.decisions[(ref("real"), 0)].reason == "Conflict"


def test_when_the_wildcard_goes_the_name_is_served() -> None:
    made = ZonePlan(ZONE, UNDER)
    wild, real = claim("wild", WILDCARD), claim("real", REAL)
    claims = {one.ref: ObjectClaims(one.ref, (one,)) for one in (wild, real)}
    held = content(owned("wild", WILDCARD, under=UNDER))
    made.follow(held, claims, UNDER.sources)
    assert made.changes == ()
    empty = held.replaced(2, {})
    made.follow(empty, {wild.ref: None}, UNDER.sources)
    assert described(made.changes) == ["create any A 192.0.2.1", "create a-any owner"]


def test_records_of_other_types_at_the_two_names_do_not_share() -> None:
    made = plan(
        content(owned("wild", WILDCARD, under=UNDER)),
        claim("wild", WILDCARD),
        claim("real", "any AAAA 2001:db8::1"),
        under=UNDER,
    )
    assert described(made.changes) == ["create any AAAA 2001:db8::1", "create aaaa-any owner"]
