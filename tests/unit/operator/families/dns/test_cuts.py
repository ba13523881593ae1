"""NS and DNAME records above the names of other namespaces (docs/spec/dns/dnsendpoint.md, rule 39)."""

from __future__ import annotations

import pytest

from seamark.families.dns.zone.ledger import Ledger
from seamark.providers.dns.model import Content
from tests.unit.operator.families.dns.test_tenancy import CRD, HOLD, claiming
from tests.unit.operator.families.dns.zones import ZONE, claim, content, described, owned, plan, record, ref, rules

NS, NAME = "b NS ns.evil.test", "www.b A 192.0.2.1"
CUTTER, TENANT = "tenant-a/cut", "tenant-b/www"
HIDES = f"b.{ZONE} NS would hide names of another namespace below it; choose another name"
BELOW = f"www.b.{ZONE} A is below the NS record of another namespace, which hides it"


@pytest.mark.parametrize("cut", [NS, "b DNAME evil.test"])
@pytest.mark.parametrize("name", [NAME, "*.b A 192.0.2.1", "x.y.b CNAME c.test"])
@pytest.mark.parametrize("served", [True, False])
def test_a_cut_above_a_name_of_another_namespace_is_refused(cut: str, name: str, served: bool) -> None:
    holds = content(owned(TENANT, name)) if served else content()
    made = plan(holds, claim(CUTTER, cut), claim(TENANT, name))
    decision = made.decisions[(ref(CUTTER), 0)]
    type_ = cut.split()[1]
    assert (decision.reason, decision.message) == ("Conflict", HIDES.replace(" NS ", f" {type_} "))
    assert made.decisions[(ref(TENANT), 0)].reason == ""


def test_a_name_below_a_cut_of_another_namespace_is_refused() -> None:
    made = plan(content(owned(CUTTER, NS)), claim(CUTTER, NS), claim(TENANT, NAME))
    assert made.changes == ()
    assert made.decisions[(ref(CUTTER), 0)].in_place
    decision = made.decisions[(ref(TENANT), 0)]
    assert (decision.reason, decision.message) == ("Conflict", BELOW)


def test_where_both_are_served_the_cut_goes() -> None:
    made = plan(content(owned(CUTTER, NS), owned(TENANT, NAME)), claim(CUTTER, NS), claim(TENANT, NAME))
    assert described(made.changes) == ["delete b NS", "delete ns-b owner"]
    assert made.decisions[(ref(CUTTER), 0)].message == HIDES
    assert made.decisions[(ref(TENANT), 0)].in_place


def test_a_namespace_has_names_below_its_own_cut() -> None:
    made = plan(content(), claim(CUTTER, NS), claim("tenant-a/ns", "ns.b A 192.0.2.53"))
    assert {decision.reason for decision in made.decisions.values()} == {""}


def test_a_cut_over_records_that_are_not_ours_is_refused() -> None:
    made = plan(content(record(NAME, ttl=300)), claim(CUTTER, NS))
    decision = made.decisions[(ref(CUTTER), 0)]
    assert (decision.reason, decision.message) == (
        "NotOwned",
        f"b.{ZONE} NS would hide records below it that are not ours",
    )
    served = plan(content(owned(CUTTER, NS), record(NAME, ttl=300)), claim(CUTTER, NS))
    assert served.decisions[(ref(CUTTER), 0)].in_place


def test_names_beside_and_above_a_cut_do_not_count() -> None:
    made = plan(content(), claim(CUTTER, NS), claim(TENANT, "xb A 192.0.2.1"), claim("tenant-b/c", "c A 192.0.2.1"))
    assert {decision.reason for decision in made.decisions.values()} == {""}


def test_a_claim_that_the_namespaces_own_wildcard_keeps_out_does_not_stop_its_cut() -> None:
    wild = "*.a A 192.0.2.1"
    claims = claim("tenant-a/w", wild), claim(CUTTER, "s.a NS ns.test"), claim(TENANT, "x.s.a A 192.0.2.6")
    made = plan(content(owned("tenant-a/w", wild)), *claims)
    assert made.decisions[(ref(CUTTER), 0)].reason == ""
    assert made.decisions[(ref(TENANT), 0)].message == f"x.s.a.{ZONE} A is below a wildcard record of another namespace"


def test_a_refused_cut_reserves_no_name() -> None:
    made = plan(
        content(owned(TENANT, NAME)), claim(CUTTER, NS), claim(TENANT, NAME), claim("tenant-c/b", "b A 192.0.2.3")
    )
    assert made.decisions[(ref(CUTTER), 0)].message == HIDES
    assert made.decisions[(ref("tenant-c/b"), 0)].reason == ""


def test_cuts_are_free_where_names_are_shared() -> None:
    made = plan(content(owned(TENANT, NAME)), claim(CUTTER, NS), claim(TENANT, NAME), under=rules(shared_names=True))
    assert {decision.reason for decision in made.decisions.values()} == {""}


def test_without_a_registry_a_cut_on_the_server_is_that_of_who_claims_it() -> None:
    holds, under = content(record(NS)), rules(registry="noop")
    made = plan(holds, claim(CUTTER, NS), claim(TENANT, NAME), under=under)
    assert made.decisions[(ref(TENANT), 0)].message == BELOW


# ---- the first owner keeps it, also while an object is replaced


def reason(ledger: Ledger, who: str, name: str) -> str:
    return ledger.plan.name(f"{name}.{ZONE}").decisions[(ref(who), 0)].reason


def followed(holds: Content) -> Ledger:
    ledger = Ledger(ZONE, rules())
    ledger.follow(holds, {ref(CUTTER): claiming(CUTTER, NS), ref(TENANT): claiming(TENANT, NAME)}, CRD, 0.0)
    return ledger


def test_a_refused_cut_does_not_come_while_the_name_below_it_is_replaced() -> None:
    holds = content(owned(TENANT, NAME))
    ledger, gone = followed(holds), holds.replaced(2, {})
    ledger.follow(gone, {ref(TENANT): None}, CRD, 1000.0)
    assert reason(ledger, CUTTER, "b") == "Conflict"
    ledger.follow(gone, {ref(TENANT): claiming(TENANT, NAME)}, CRD, 1001.0)
    assert (reason(ledger, TENANT, "www.b"), reason(ledger, CUTTER, "b")) == ("", "Conflict")
    ledger.follow(gone, {ref(TENANT): None}, CRD, 1002.0)
    ledger.follow(gone, {}, CRD, 1002.0 + HOLD)
    assert reason(ledger, CUTTER, "b") == ""


def test_a_refused_name_does_not_come_while_the_cut_above_it_is_replaced() -> None:
    holds = content(owned(CUTTER, NS))
    ledger, gone = followed(holds), holds.replaced(2, {})
    ledger.follow(gone, {ref(CUTTER): None}, CRD, 1000.0)
    assert reason(ledger, TENANT, "www.b") == "Conflict"
    ledger.follow(gone, {ref(CUTTER): claiming(CUTTER, NS)}, CRD, 1001.0)
    assert (reason(ledger, CUTTER, "b"), reason(ledger, TENANT, "www.b")) == ("", "Conflict")
    ledger.follow(gone, {ref(CUTTER): None}, CRD, 1002.0)
    ledger.follow(gone, {}, CRD, 1002.0 + HOLD)
    assert reason(ledger, TENANT, "www.b") == ""
