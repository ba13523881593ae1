"""The plan's rules, one by one (docs/spec/dns/dnsendpoint.md, rules 10 to 20)."""

from __future__ import annotations

import pytest

from seamark.families.dns.model.rules import Policy
from seamark.families.dns.planning.claims import ObjectClaims
from seamark.providers.dns.domains import Domains
from seamark.providers.dns.model import Part, Record
from seamark.providers.dns.txt import Names
from tests.unit.operator.families.dns.zones import ZONE, claim, content, described, owned, plan, record, ref, rules

WWW = "www A 192.0.2.1"


def test_what_is_not_there_is_made_together_with_its_ownership() -> None:
    made = plan(content(), claim("a", WWW))
    assert described(made.changes) == ["create www A 192.0.2.1", "create a-www owner"]
    assert len(made.changes) == 1
    assert made.changes[0].parts[1].after == Record(
        f"a-www.{ZONE}", "TXT", ("heritage=external-dns,external-dns/owner=me,external-dns/resource=crd/default/a",)
    )


def test_what_is_there_stays() -> None:
    made = plan(content(owned("a", WWW)), claim("a", WWW))
    assert made.changes == ()
    assert made.decisions[(ref("a"), 0)].in_place


def test_other_targets_are_an_update_of_the_record_alone() -> None:
    made = plan(content(owned("a", WWW)), claim("a", "www A 192.0.2.7"))
    assert described(made.changes) == ["update www A 192.0.2.7"]


@pytest.mark.parametrize(("wanted", "changes"), [(0, 0), (300, 0), (60, 1)])
def test_a_ttl_counts_only_if_it_is_set(wanted: int, changes: int) -> None:
    assert len(plan(content(owned("a", WWW, ttl=300)), claim("a", WWW, ttl=wanted)).changes) == changes


def test_a_record_without_a_claim_is_deleted_with_its_ownership() -> None:
    made = plan(content(owned("a", WWW)))
    assert described(made.changes) == ["delete www A", "delete a-www owner"]


CREATED = ["create new A 192.0.2.1", "create a-new owner"]
UPDATED = ["update www A 192.0.2.7"]
DELETED = ["delete old A", "delete a-old owner"]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Policy.SYNC, [*CREATED, *UPDATED, *DELETED]),
        (Policy.UPSERT_ONLY, [*CREATED, *UPDATED]),
        (Policy.CREATE_ONLY, CREATED),
    ],
)
def test_a_policy_limits_what_may_be_done(policy: Policy, expected: list[str]) -> None:
    holds = content(owned("a", WWW), owned("b", "old A 192.0.2.1"))
    claims = claim("c", "new A 192.0.2.1"), claim("a", "www A 192.0.2.7")
    made = plan(holds, *claims, under=rules(policy=policy))
    assert described(made.changes) == expected
    if policy is Policy.CREATE_ONLY:
        assert "create-only changes nothing" in made.decisions[(ref("a"), 0)].message


def test_a_record_that_is_nobodys_is_left_alone() -> None:
    made = plan(content(record(WWW)), claim("a", "www A 192.0.2.7"))
    assert made.changes == ()
    decision = made.decisions[(ref("a"), 0)]
    assert (decision.reason, decision.message) == (
        "NotOwned",
        f"www.{ZONE} A is on the name server already, without a valid ownership record",
    )


def test_a_record_of_another_owner_is_left_alone_even_if_it_is_the_same() -> None:
    made = plan(content(owned("a", WWW, owner="them")), claim("a", WWW))
    assert made.changes == ()
    assert made.decisions[(ref("a"), 0)].message == f"www.{ZONE} A belongs to the owner 'them'"
    assert plan(content(owned("a", WWW, owner="them"))).changes == ()


def test_a_record_that_was_deleted_by_hand_comes_back_under_its_ownership() -> None:
    _, ownership = owned("a", WWW)
    assert described(plan(content(ownership), claim("a", WWW)).changes) == ["create www A 192.0.2.1"]


def test_an_ownership_whose_record_is_gone_and_unwanted_goes_too() -> None:
    _, ownership = owned("a", WWW)
    assert described(plan(content(ownership)).changes) == ["delete a-www owner"]


def test_a_former_owners_records_become_ours() -> None:
    made = plan(content(owned("a", WWW, owner="old")), claim("a", WWW), under=rules(formerly=("old",)))
    assert described(made.changes) == ["update a-www owner"]


def test_same_record_and_ttl_from_several_objects_is_served_with_all_targets() -> None:
    made = plan(content(), claim("a", WWW), claim("b", "www A 192.0.2.2"))
    assert described(made.changes) == ["create www A 192.0.2.1,192.0.2.2", "create a-www owner"]


def test_of_several_objects_one_leaving_takes_its_targets_along() -> None:
    made = plan(content(owned("a", "www A 192.0.2.1,192.0.2.2")), claim("b", "www A 192.0.2.2"))
    assert described(made.changes) == ["update www A 192.0.2.2", "update a-www owner"]


def test_in_a_conflict_who_holds_the_record_wins() -> None:
    holds = content(owned("b", "www A 192.0.2.1,192.0.2.2", ttl=60))
    made = plan(holds, claim("a", "www A 192.0.2.9", ttl=30), claim("b", "www A 192.0.2.1,192.0.2.2", ttl=60))
    assert made.changes == ()
    assert made.decisions[(ref("b"), 0)].in_place
    assert made.decisions[(ref("a"), 0)].message == f"www.{ZONE} A is already claimed by DNSEndpoint b"


def test_in_a_conflict_over_nothing_fewer_targets_win_then_the_order_of_names() -> None:
    few, many = claim("z", "www A 192.0.2.9", ttl=30), claim("a", "www A 192.0.2.1,192.0.2.2", ttl=60)
    assert plan(content(), many, few).decisions[(ref("a"), 0)].reason == "Conflict"
    first, second = claim("a", "www A 192.0.2.9", ttl=30), claim("b", "www A 192.0.2.1", ttl=60)
    assert plan(content(), second, first).decisions[(ref("b"), 0)].reason == "Conflict"


def test_the_winners_name_is_shown_only_within_its_namespace() -> None:
    made = plan(content(), claim("one/a", "www A 192.0.2.9", ttl=30), claim("two/b", "www A 192.0.2.1", ttl=60))
    assert (
        made.decisions[(ref("two/b"), 0)].message
        == f"www.{ZONE} A is already claimed by a DNSEndpoint in another namespace"
    )


def test_a_cname_has_one_target_so_two_are_a_conflict() -> None:
    made = plan(content(), claim("a", "www CNAME one.example.net"), claim("b", "www CNAME two.example.net"))
    assert described(made.changes)[0] == "create www CNAME one.example.net"
    assert made.decisions[(ref("b"), 0)].reason == "Conflict"


def test_a_cname_loses_to_anything_beside_it() -> None:
    made = plan(content(), claim("a", "www CNAME one.example.net"), claim("b", WWW))
    assert described(made.changes) == ["create www A 192.0.2.1", "create a-www owner"]
    assert made.decisions[(ref("a"), 0)].message == "a CNAME can't be beside the A record of DNSEndpoint b"


def test_another_type_at_a_name_is_one_change() -> None:
    made = plan(content(owned("a", WWW)), claim("a", "www CNAME one.example.net"))
    assert len(made.changes) == 1
    assert described(made.changes) == [
        "create www CNAME one.example.net",
        "create cname-www owner",
        "delete www A",
        "delete a-www owner",
    ]


def test_a_cname_beside_somebody_elses_record_is_not_even_tried() -> None:
    made = plan(content(record("www TXT hello")), claim("a", "www CNAME one.example.net"))
    assert made.changes == ()
    assert made.decisions[(ref("a"), 0)].reason == "NotOwned"
    assert "has TXT on the name server" in made.decisions[(ref("a"), 0)].message


def test_records_of_one_name_are_separate_changes() -> None:
    made = plan(content(), claim("a", WWW), claim("a", "www AAAA 2001:db8::1", index=1))
    assert len(made.changes) == 2


def test_an_object_that_is_not_marked_yet_holds_what_is_there_and_changes_nothing() -> None:
    assert plan(content(), claim("a", WWW, settled=False)).changes == ()
    made = plan(content(owned("a", "www A 192.0.2.9")), claim("a", WWW, settled=False))
    assert made.changes == ()
    assert made.decisions[(ref("a"), 0)].reason == "Waiting"


def test_what_is_held_is_not_deleted() -> None:
    holds = content(owned("a", WWW), owned("b", "b A 192.0.2.1"))
    others = ObjectClaims(ref("a"), held=True), ObjectClaims(ref("c"), slots=frozenset({(f"b.{ZONE}", "A", "")}))
    assert plan(holds, others=others).changes == ()


@pytest.mark.parametrize(
    "under",
    [
        rules(types=frozenset({"CNAME"})),
        rules(domains=Domains(include=("other.org",))),
        rules(sources=frozenset({"service"})),
        rules(namespace="elsewhere"),
    ],
    ids=["types", "domains", "sources", "namespace"],
)
def test_what_a_setting_hides_is_not_deleted(under: object) -> None:
    assert plan(content(owned("a", WWW)), under=under).changes == ()  # type: ignore[arg-type]  # rules, by ids


def test_an_older_ownership_counts_and_goes_with_the_last_record_that_leans_on_it() -> None:
    under = rules(names=Names(prefix="txt-"))
    value = under.values.encode({"owner": "me", "resource": "crd/default/a"})
    older = Record(f"txt-www.{ZONE}", "TXT", (value,), 300)
    holds = content(record(WWW, ttl=300), older)
    assert plan(holds, claim("a", WWW), under=under).changes == ()
    assert described(plan(holds, under=under).changes) == ["delete www A", "delete txt-www owner"]
    beside = content(record(WWW, ttl=300), record("www MX 10 mail.example.net", ttl=300), older)
    kept = plan(beside, claim("a", "www MX 10 mail.example.net", index=1), under=under)
    assert described(kept.changes) == ["delete www A"]


def test_an_older_ownership_is_not_about_aaaa() -> None:
    under = rules(names=Names(prefix="txt-"))
    older = Record(f"txt-www.{ZONE}", "TXT", (under.values.encode({"owner": "me", "resource": "crd/default/a"}),), 300)
    made = plan(content(record("www AAAA 2001:db8::1"), older), claim("a", "www AAAA 2001:db8::1"), under=under)
    assert made.decisions[(ref("a"), 0)].reason == "NotOwned"


def test_other_texts_beside_an_ownership_stay() -> None:
    owned_record, ownership = owned("a", WWW)
    shared = Record(ownership.name, "TXT", tuple(sorted((*ownership.targets, "hello"))), 300)
    (change,) = plan(content(owned_record, shared)).changes
    assert change.parts[1] == Part(shared, Record(ownership.name, "TXT", ("hello",), 300))


def test_without_a_registry_only_what_a_going_object_names_is_deleted() -> None:
    under = rules(registry="noop")
    holds = content(record(WWW, ttl=300), record("other A 192.0.2.1", ttl=300))
    assert plan(holds, under=under).changes == ()
    deleted = ObjectClaims(ref("a"), deleting=((f"www.{ZONE}", "A", ""),))
    assert described(plan(holds, under=under, others=[deleted]).changes) == ["delete www A"]
    assert described(plan(holds, claim("a", "www A 192.0.2.3"), under=under).changes) == ["update www A 192.0.2.3"]


# ---- names of several namespaces


def test_a_name_belongs_to_the_namespace_that_has_records_there() -> None:
    made = plan(content(owned("shop/a", WWW)), claim("shop/a", WWW), claim("evil/a", "www A 203.0.113.6"))
    assert made.changes == ()
    assert made.decisions[(ref("shop/a"), 0)].in_place
    decision = made.decisions[(ref("evil/a"), 0)]
    assert (decision.reason, decision.message) == (
        "Conflict",
        f"www.{ZONE} A is already claimed by a DNSEndpoint in another namespace",
    )


def test_no_record_of_another_namespace_drives_a_cname_away() -> None:
    alias = "www CNAME a.example.org"
    made = plan(content(owned("shop/a", alias)), claim("shop/a", alias), claim("evil/a", WWW))
    assert made.changes == ()
    assert made.decisions[(ref("evil/a"), 0)].reason == "Conflict"


def test_namespaces_share_a_name_where_that_is_set() -> None:
    claims = claim("shop/a", WWW), claim("other/b", "www A 192.0.2.7")
    assert (
        described(plan(content(), *claims, under=rules(shared_names=True)).changes)[0]
        == "create www A 192.0.2.1,192.0.2.7"
    )
    alone = plan(content(), *claims)
    assert described(alone.changes)[0] == "create www A 192.0.2.7", "else the first has it"
    assert alone.decisions[(ref("shop/a"), 0)].reason == "Conflict"


FORGED = ["external-dns/owner=zzz", "external-dns/owner=zzz=1", "external-dns/resource=crd/tenant-b/www"]


@pytest.mark.parametrize("forged", FORGED)
def test_an_ownership_record_with_a_repeated_key_is_neither_trusted_nor_shown(forged: str) -> None:
    """Rule 37: as earlier versions wrote it for labels of a tenant."""
    standing, txt = owned("tenant-a/x", WWW)
    doubtful = Record(txt.name, "TXT", (f"{txt.targets[0]},external-dns/x=1,{forged}",), 300)
    made = plan(content(standing, doubtful), claim("tenant-b/www", "www A 192.0.2.9"))
    assert made.changes == ()
    decision = made.decisions[(ref("tenant-b/www"), 0)]
    message = f"www.{ZONE} A is on the name server already, without a valid ownership record"
    assert (decision.reason, decision.message) == ("NotOwned", message)
    assert plan(content(standing, doubtful)).changes == ()
