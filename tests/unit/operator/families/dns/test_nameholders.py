"""Names by which a namespace could affect names of another (docs/spec/dns/dnsendpoint.md, rules 34, 41 and 73)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seamark.families.dns.zone.ledger import Ledger
from tests.unit.operator.families.dns.test_tenancy import CRD, HOLD, claiming
from tests.unit.operator.families.dns.zones import ZONE, claim, content, described, owned, plan, ref, rules

EVIL, MINE = "a/evil", "b/mine"
STAR, HOST = "*.zz9 A 192.0.2.1", "zhost A 192.0.2.1"
ANSWERS = "would answer for names about a name of another namespace"
PARENT = "is the parent of a wildcard record of another namespace"


def refused(*claims: str, holds: str = "") -> dict[str, str]:
    """By name, the messages about tenant-a's refused claims beside tenant-b's `holds`; what is granted is not there."""
    standing = [claim(MINE, holds)] if holds else []
    given = [claim(EVIL, text, index=number) for number, text in enumerate(claims)]
    made = plan(content(owned(MINE, holds)) if holds else content(), *standing, *given)
    if holds:
        assert made.decisions[(ref(MINE), 0)].in_place, "the holder's record stays"
    return {
        claims[index].split()[0]: decision.message.partition(" ")[2].partition(" ")[2]
        for (who, index), decision in made.decisions.items()
        if who == ref(EVIL) and decision.reason == "Conflict"
    }


@pytest.mark.parametrize("type_", ["A 192.0.2.6", "CNAME x.test", "TXT hello", "NS ns.test", "DNAME x.test"])
def test_a_refused_claim_gives_no_right_to_a_name_about_it(type_: str) -> None:
    challenge = f"_acme-challenge.foo.zz9 {type_}"
    assert set(refused("foo.zz9 A 192.0.2.6", challenge, holds=STAR)) == {"foo.zz9", "_acme-challenge.foo.zz9"}
    assert set(refused("*.foo.zz9 A 192.0.2.6", "x.foo.zz9 A 192.0.2.6", holds=STAR)) == {"*.foo.zz9", "x.foo.zz9"}


@pytest.mark.parametrize("below", ["a.zz9", "b.a.zz9", "_x.c.b.a.zz9", "_acme-challenge.zz9", "*.q.r.zz9"])
def test_a_name_below_the_wildcard_of_another_namespace_is_refused_at_any_depth(below: str) -> None:
    assert set(refused(f"{below} TXT hello", holds=STAR)) == {below}


@pytest.mark.parametrize("type_", ["A 192.0.2.6", "CNAME x.test", "TXT hello", "NS ns.test", "DNAME x.test"])
def test_a_wildcard_below_the_name_of_another_namespace_is_refused(type_: str) -> None:
    assert refused(f"*.zhost {type_}", holds=HOST) == {"*.zhost": ANSWERS}


@pytest.mark.parametrize(
    "name", ["*._tcp.zhost", "mail._domainkey.zhost", "_acme-challenge.a._x.zhost", "*.a._x.zhost", "_a._b.zhost"]
)
def test_a_name_with_service_labels_anywhere_is_about_the_host_after_them(name: str) -> None:
    assert refused(f"{name} TXT hello", holds=HOST) == {name: "is about a name of another namespace"}


def test_a_wildcard_and_its_parent_belong_to_one_namespace() -> None:
    challenge = "_acme-challenge.zz9 CNAME x.test"
    assert refused("zz9 A 192.0.2.6", challenge, holds=STAR) == {
        "zz9": PARENT,
        "_acme-challenge.zz9": "is about a name of another namespace",
    }
    assert set(refused("zz9 A 192.0.2.6", "*.zz9 A 192.0.2.6", challenge)) == set()


@pytest.mark.parametrize("holds", ["@ A 192.0.2.1", "* A 192.0.2.1"])
def test_names_about_the_zone_belong_to_who_has_its_name_or_its_wildcard(holds: str) -> None:
    other = "*" if holds.startswith("@") else "@"
    names = [f"{other} A 192.0.2.6", "_acme-challenge TXT hello", "_dmarc TXT hello", "www A 192.0.2.6"]
    assert set(refused(*names, holds=holds)) == {name.split()[0] for name in names[:3]}
    assert set(refused(*names)) == set()


@pytest.mark.parametrize("name", ["www.zhost", "*.www.zhost", "xzhost", "*.xzhost", "zhost2"])
def test_names_that_affect_nothing_of_another_namespace_are_free(name: str) -> None:
    assert refused(f"{name} A 192.0.2.6", holds=HOST) == {}


@pytest.mark.parametrize("mine", ["*.zhost", "zhost"])
@pytest.mark.parametrize("first", ["a", "b"])
def test_of_two_claims_that_are_not_served_yet_that_of_the_older_object_holds(mine: str, first: str) -> None:
    created = {"a": "2026-01-01T00:00:02Z", "b": "2026-01-01T00:00:02Z", first: "2026-01-01T00:00:01Z"}
    other = "zhost" if mine.startswith("*") else "*.zhost"
    claims = claim(MINE, f"{mine} A 192.0.2.1"), claim(EVIL, f"{other} A 192.0.2.6")
    made = plan(content(), *(replace(each, created=created[each.ref.namespace]) for each in claims))
    reasons = {who.namespace: decision.reason for (who, _), decision in made.decisions.items()}
    assert reasons == {first: "", "b" if first == "a" else "a": "Conflict"}


def test_a_refused_wildcard_reserves_nothing() -> None:
    claims = claim(MINE, HOST), claim(EVIL, "*.zhost A 192.0.2.6"), claim("c/x", "x.zhost A 192.0.2.3")
    made = plan(content(owned(MINE, HOST)), *claims)
    assert made.decisions[(ref(EVIL), 0)].reason == "Conflict"
    assert made.decisions[(ref("c/x"), 0)].reason == ""


@pytest.mark.parametrize("refusing", [STAR, "x.zz9 AAAA 2001:db8::1"])
def test_a_refused_claim_does_not_reserve_the_name_of_an_ownership_record(refusing: str) -> None:
    alias = claim("b/alias", "a-x.zz9 CNAME x.test")
    made = plan(content(owned(MINE, refusing)), claim(MINE, refusing), alias, claim(EVIL, "x.zz9 A 192.0.2.6"))
    assert made.decisions[(ref(EVIL), 0)].reason == "Conflict"
    assert made.decisions[(ref("b/alias"), 0)].reason == ""


def test_records_of_two_namespaces_that_are_served_both_stay() -> None:
    """From before this rule: nothing disappears because of another object."""
    both = owned(MINE, HOST), owned(EVIL, "*.zhost A 192.0.2.6")
    made = plan(content(*both), claim(MINE, HOST), claim(EVIL, "*.zhost A 192.0.2.6"))
    assert made.changes == ()
    assert {decision.in_place for decision in made.decisions.values()} == {True}


def test_the_ownership_record_of_another_namespace_makes_no_name_free() -> None:
    """`a-x.zz9` has a TXT record: the ownership record of `x.zz9`."""
    standing = owned(MINE, STAR), owned(MINE, "x.zz9 A 192.0.2.1")
    mine = claim(MINE, STAR), claim(MINE, "x.zz9 A 192.0.2.1", index=1)
    made = plan(content(*standing), *mine, claim(EVIL, "a-x.zz9 A 192.0.2.6"))
    assert described(made.changes) == []
    assert made.decisions[(ref(EVIL), 0)].reason == "Conflict"


def test_where_names_are_shared_nothing_is_refused() -> None:
    claims = [claim(EVIL, text, index=number) for number, text in enumerate(["*.zhost A 192.0.2.6", "_x.zhost TXT t"])]
    made = plan(content(owned(MINE, HOST)), claim(MINE, HOST), *claims, under=rules(shared_names=True))
    assert {decision.reason for decision in made.decisions.values()} == {""}


def test_a_wildcard_waits_while_the_name_above_it_is_replaced() -> None:
    """Rule 38; and it is granted when the name has been free for the whole time."""
    ledger, holds = Ledger(ZONE, rules()), content(owned(MINE, HOST))
    wild = claiming(EVIL, "*.zhost A 192.0.2.6")
    ledger.follow(holds, {ref(MINE): claiming(MINE, HOST), wild.ref: wild}, CRD, 0.0)

    def reason() -> str:
        return ledger.plan.name(f"*.zhost.{ZONE}").decisions[(wild.ref, 0)].reason

    assert reason() == "Conflict"
    gone = holds.replaced(2, {})
    ledger.follow(gone, {ref(MINE): None}, CRD, 1000.0)
    assert reason() == "Conflict"
    ledger.published(list(ledger.unpublished))
    ledger.follow(gone, {}, CRD, 1000.0 + HOLD)
    assert (reason(), list(ledger.unpublished)) == ("", [wild.ref])


def test_after_a_restart_the_same_claims_are_refused() -> None:
    for order in (1, -1):
        subjects = [claiming(MINE, HOST), claiming(EVIL, "*.zhost A 192.0.2.6")][::order]
        ledger = Ledger(ZONE, rules())
        for number, each in enumerate(subjects):  # in whatever order they are read
            ledger.follow(None, {each.ref: each}, CRD, float(number))
        ledger.follow(content(owned(MINE, HOST)), {}, CRD, 2.0)
        assert ledger.plan.name(f"*.zhost.{ZONE}").decisions[(ref(EVIL), 0)].reason == "Conflict"
