"""A zone's plan is kept up with what changes, and is always the plan that would be made from nothing."""

from __future__ import annotations

from collections.abc import Hashable

from hypothesis import given
from hypothesis import strategies as st

from seamark.families.dns import planning
from seamark.families.dns.ledger import Ledger, Subject
from seamark.families.dns.planning import ZonePlan
from seamark.families.dns.rules import Policy, Rules
from seamark.families.dns.wishes import Problem, Wishes
from seamark.providers.dns.memory import MemoryProvider
from seamark.providers.dns.model import Change, Content, Record
from seamark.providers.dns.txt import Names
from tests.unit.families.dns.zones import ZONE, claim, content, owned, ref, rules, subject, told

CRD = frozenset(("crd",))
WHO = st.sampled_from(["a", "b", "other/c"])
TEXTS = [
    *("www A 192.0.2.1", "www A 192.0.2.1,192.0.2.2", "www CNAME x.test", "www AAAA 2001:db8::1", "api A 192.0.2.3"),
    *("*.w A 192.0.2.4", "p.w A 192.0.2.5", "*.q.w A 192.0.2.6", "r.q.w CNAME x.test"),  # wildcards, names below them
    *("a-api CNAME x.test", "a-api TXT hello", "own-a-api NS x.test"),  # names of ownership records
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
    kind = draw(st.sampled_from(["wishes", "deleting", "hidden", "unsettled", "problem", "gone"]))
    texts = draw(st.lists(TEXT, max_size=2, unique=True))
    if kind == "gone" or not texts:
        return who, None
    claims = [
        claim(who, text, index=number, ttl=draw(st.sampled_from([0, 60])), settled=kind != "unsettled")
        for number, text in enumerate(texts)
    ]
    made = subject(*claims, deleting=kind == "deleting", hidden=kind == "hidden", settled=kind != "unsettled")
    if kind != "problem":
        return who, made
    slot = draw(st.sampled_from([None, (f"api.{ZONE}", "A", "")]))
    wanted = Wishes(made.wishes.wishes, (Problem(9, "Invalid", "wrong", slot),))
    return who, Subject(made.ref, made.key, made.uid, made.generation, wanted, made.claims)


STANDING = st.sampled_from([text for text in TEXTS if " TXT " not in text])  # a TXT record may be an ownership record
HELD = st.lists(
    st.tuples(WHO, STANDING, st.sampled_from(["me", "them", "nobody", "older"])),
    max_size=3,
    unique_by=lambda one: one[1],
)


def holding(provider: MemoryProvider, under: Rules, held: list[tuple[str, str, str]]) -> Content:
    """Makes the zone hold exactly this, name by name, as a server would."""
    for standing in list(provider.content(ZONE)):
        provider.remove(standing.name, standing.type)
    for who, text, owner in held:
        one, txt = owned(who, text, owner="me" if owner == "older" else owner, under=under)
        provider.put(one)
        place = under.names.older(one.name, one.type) if owner == "older" else txt.name
        if owner != "nobody" and place is not None:
            provider.put(Record(place, "TXT", txt.targets, 300))
    return provider.content(ZONE)


def shown(plan: ZonePlan, names: set[str]) -> object:
    return (
        sorted(told(plan.changes)),
        {who: one for name in names for who, one in plan.name(name).verdicts.items()},
        {slot: str(change) for slot, change in plan.at.items()},
        (dict(+plan.held), dict(+plan.right)),
    )


@given(UNDER, st.lists(st.one_of(subjects(), HELD), min_size=1, max_size=8))
def test_whatever_changes_in_whatever_order_the_plan_is_the_one_made_from_nothing(
    under: Rules, steps: list[tuple[str, Subject | None] | list[tuple[str, str, str]]]
) -> None:
    provider = MemoryProvider((ZONE,))
    ledger, now = Ledger(ZONE, under), dict[Hashable, Subject]()
    for step in steps:
        changed: dict[Hashable, Subject | None] = {}
        if isinstance(step, list):
            holding(provider, under, step)
        else:
            who, made = step
            changed[who] = made
            now.pop(who, None)
            if made is not None:
                now[who] = made
        ledger.follow(provider.content(ZONE), changed, CRD)
        fresh = Ledger(ZONE, under)
        fresh.follow(Content(ZONE, 1, dict(provider.content(ZONE).names)), now, CRD)
        names = {f"{text.split()[0]}.{ZONE}" for text in TEXTS}
        assert shown(ledger.plan, names) == shown(fresh.plan, names)
        assert ledger.subjects == fresh.subjects
        assert dict(+ledger.wished) == dict(+fresh.wished)
        for one in now.values():
            assert ledger.plan.left(one.stake(ZONE)) == fresh.plan.left(one.stake(ZONE))


def verdict(ledger: Ledger, who: str, name: str) -> str:
    """The reason why a claim is refused; empty where it is not."""
    return ledger.plan.name(f"{name}.{ZONE}").verdicts[(ref(who), 0)].reason


def test_a_name_is_planned_anew_when_the_wildcard_above_it_goes_or_comes() -> None:
    ledger = Ledger(ZONE, rules(hold=0.0))
    wild, below = subject(claim("b/wild", "*.w A 192.0.2.1")), subject(claim("a/x", "p.q.w A 192.0.2.2"))
    holds = content(owned("b/wild", "*.w A 192.0.2.1"))
    ledger.follow(holds, {"wild": wild, "x": below}, CRD)
    assert verdict(ledger, "a/x", "p.q.w") == "Conflict"
    ledger.told(list(ledger.untold))
    empty = holds.replaced(2, {})
    ledger.follow(empty, {"wild": None}, CRD)
    assert verdict(ledger, "a/x", "p.q.w") == ""
    assert "x" in ledger.untold
    ledger.follow(empty, {"wild": wild}, CRD)
    assert verdict(ledger, "a/x", "p.q.w") == "Conflict"


def test_a_change_of_a_wildcard_that_stays_its_namespaces_concerns_no_name_below_it() -> None:
    ledger = Ledger(ZONE, rules(hold=0.0))
    wild, below = subject(claim("b/wild", "*.w A 192.0.2.1")), subject(claim("a/x", "p.w A 192.0.2.2"))
    holds = content(owned("b/wild", "*.w A 192.0.2.1"))
    ledger.follow(holds, {"wild": wild, "x": below}, CRD)
    ledger.told(list(ledger.untold))
    ledger.follow(holds, {"wild": subject(claim("b/wild", "*.w A 192.0.2.7"))}, CRD)
    assert set(ledger.untold) == {"wild"}


def test_a_record_is_planned_anew_when_the_name_of_its_ownership_record_is_free() -> None:
    ledger = Ledger(ZONE, rules())
    alias, address = subject(claim("b/alias", "a-api CNAME x.test")), subject(claim("a/api", "api A 192.0.2.3"))
    holds = content(owned("b/alias", "a-api CNAME x.test"))
    ledger.follow(holds, {"alias": alias, "api": address}, CRD)
    assert (verdict(ledger, "b/alias", "a-api"), verdict(ledger, "a/api", "api")) == ("", "Conflict")
    ledger.follow(holds.replaced(2, {}), {"alias": None}, CRD)
    assert verdict(ledger, "a/api", "api") == ""


def test_a_claim_to_the_name_of_an_ownership_record_is_planned_anew_when_that_comes_or_goes() -> None:
    ledger = Ledger(ZONE, rules())
    alias, address = subject(claim("b/alias", "a-api CNAME x.test")), subject(claim("a/api", "api A 192.0.2.3"))
    ledger.follow(content(), {"alias": alias}, CRD)
    assert verdict(ledger, "b/alias", "a-api") == ""
    ledger.follow(None, {"api": address}, CRD)
    assert verdict(ledger, "b/alias", "a-api") == "Conflict"
    ledger.follow(None, {"api": None}, CRD)
    assert verdict(ledger, "b/alias", "a-api") == ""


def settled(count: int) -> tuple[Ledger, MemoryProvider]:
    """So many objects with a record each, all in place and told."""
    provider = MemoryProvider((ZONE,))
    ledger = Ledger(ZONE, rules())
    for number in range(count):
        for one in owned(f"o{number}", f"h{number} A 192.0.2.1"):
            provider.put(one)
    ledger.follow(
        provider.content(ZONE),
        {f"o{number}": subject(claim(f"o{number}", f"h{number} A 192.0.2.1")) for number in range(count)},
        CRD,
    )
    while ledger.plan.backlog:
        ledger.follow(provider.content(ZONE), {}, CRD)
    ledger.told(list(ledger.untold))
    return ledger, provider


def test_a_change_of_one_object_concerns_that_one_and_who_shares_its_names() -> None:
    ledger, provider = settled(50)
    rival = subject(claim("late", "h7 A 192.0.2.9", ttl=60))
    ledger.follow(provider.content(ZONE), {"late": rival}, CRD)
    assert set(ledger.untold) == {"late", "o7"}
    ledger.told(list(ledger.untold))
    provider.remove(f"h3.{ZONE}", "A")
    ledger.follow(provider.content(ZONE), {}, CRD)
    assert set(ledger.untold) == {"o3"}
    assert told(ledger.plan.changes) == ["create h3 A 192.0.2.1"]


def test_what_was_not_told_stays_untold() -> None:
    ledger, provider = settled(3)
    provider.remove(f"h1.{ZONE}", "A")
    ledger.follow(provider.content(ZONE), {}, CRD)
    ledger.follow(provider.content(ZONE), {}, CRD)
    assert set(ledger.untold) == {"o1"}


def test_what_the_server_says_of_the_zone_concerns_everybody_and_of_a_record_those_who_name_it() -> None:
    ledger, _ = settled(5)
    refused = Change((f"h2.{ZONE}", "A", ""), ())
    ledger.heard((True, True, ""), {})
    assert len(ledger.untold) == 5
    ledger.told(list(ledger.untold))
    ledger.heard((True, True, ""), {})
    assert not ledger.untold
    ledger.heard((True, True, "no answer"), {refused: "REFUSED"})
    assert len(ledger.untold) == 5


def test_a_source_that_is_empty_from_the_start_deletes_nothing() -> None:
    holds = content(owned("a", "www A 192.0.2.1"), owned("b", "api A 192.0.2.1"))
    plan = ZonePlan(ZONE, rules())
    plan.follow(holds, {}, frozenset())
    assert plan.changes == ()
    plan.follow(holds, {}, CRD)
    assert sorted(told(plan.changes)) == ["delete a-api owner", "delete a-www owner", "delete api A", "delete www A"]


def test_a_large_change_is_planned_and_told_in_pieces() -> None:
    ledger, provider = Ledger(ZONE, rules()), MemoryProvider((ZONE,))
    count = 3 * planning.AT_ONCE
    objects: dict[Hashable, Subject | None] = {
        f"o{number}": subject(claim(f"o{number}", f"h{number} A 192.0.2.1")) for number in range(count)
    }
    ledger.follow(provider.content(ZONE), objects, CRD)
    assert ledger.more
    assert len(ledger.plan.changes) == len(ledger.news()) == planning.AT_ONCE  # nobody is told what is not planned
    for _ in range(2):
        ledger.told(ledger.news())
        ledger.follow(provider.content(ZONE), {}, CRD)
    assert len(ledger.plan.changes) == count
    ledger.told(ledger.news())
    assert not ledger.more
    assert not ledger.untold


def test_what_was_planned_for_a_name_that_has_changed_stands_no_more() -> None:
    ledger, provider = settled(planning.AT_ONCE + 50)
    for number in range(planning.AT_ONCE + 50):
        provider.remove(f"h{number}.{ZONE}", "A")
    last = f"h{planning.AT_ONCE + 49}.{ZONE}"
    ledger.follow(provider.content(ZONE), {}, CRD)
    assert last in ledger.plan.backlog
    assert ledger.plan.name(last).verdicts == {}
    assert len(ledger.plan.changes) == planning.AT_ONCE
