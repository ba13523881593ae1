"""Which names can affect which (docs/spec/dns/dnsendpoint.md, rule 73), against a model of a name server."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.families.dns.planning.claims import Claim, ObjectClaims
from seamark.families.dns.planning.relation import affected, may_affect
from seamark.families.dns.planning.zoneplan import ZonePlan
from seamark.providers.dns.memory import MemoryProvider
from tests.unit.operator.families.dns.zonemodel import ZoneModel, verifying
from tests.unit.operator.families.dns.zones import ZONE, claim, ref, rules

LABELS = ("a", "b", "_x")
PLAIN = [".".join(labels) for length in (1, 2, 3) for labels in product(LABELS, repeat=length)]
SHORT = ["@", "*", *PLAIN, *(f"*.{name}" for name in PLAIN if name.count(".") < 2)]
NAMES = [ZONE if name == "@" else f"{name}.{ZONE}" for name in SHORT]
QUERIES = [*NAMES, *(f"q.{name}" for name in NAMES if not name.startswith("*"))]
ZONES_WILDCARD = f"*.{ZONE}"  # reserves nothing


@pytest.mark.parametrize(
    ("name", "other", "does"),
    [
        ("www", "www", True),
        ("www", "api", False),
        ("x.www", "www", False),
        ("www", "x.www", False),
        ("x.w", "*.w", True),
        ("z.y.x.w", "*.w", True),
        ("*.x.w", "*.w", True),
        ("*.w", "x.w", False),
        ("*.w", "*.x.w", False),
        ("xw", "*.w", False),
        ("w", "*.w", True),
        ("*.w", "w", True),
        ("*.x.w", "w", False),
        ("_acme-challenge.w", "w", True),
        ("_acme-challenge.w", "*.w", True),
        ("_acme-challenge.w", "x.w", False),
        ("w", "_acme-challenge.w", False),
        ("_sip._tcp.w", "w", True),
        ("mail._domainkey.w", "w", True),
        ("*._tcp.w", "w", True),
        ("_a.b._c.w", "b._c.w", True),
        ("_a.b._c.w", "w", True),
        ("_acme-challenge.x.w", "w", False),
        ("x_y.w", "w", False),
        ("@", "*", True),
        ("*", "@", True),
        ("_dmarc", "@", True),
        ("_dmarc", "*", True),
        ("www", "*", False),
        ("www", "@", False),
    ],
)
def test_a_name_affects_another(name: str, other: str, does: bool) -> None:
    first, second = (ZONE if text == "@" else f"{text}.{ZONE}" for text in (name, other))
    assert may_affect(first, second, ZONE) is does


def test_a_cut_affects_all_names_below_it() -> None:
    cut, below = f"w.{ZONE}", f"x.y.w.{ZONE}"
    assert (may_affect(cut, below, ZONE), may_affect(cut, below, ZONE, cut=True)) == (False, True)
    assert not may_affect(cut, f"xw.{ZONE}", ZONE, cut=True)


def test_a_name_affects_few_others_however_long_it_is() -> None:
    longest = ".".join(["_"] * 100)
    assert len(list(affected(f"{longest}.{ZONE}", ZONE))) < 400


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True), st.sampled_from(NAMES), st.data())
def test_a_name_that_does_not_affect_another_takes_none_of_its_answers(
    served: list[str], name: str, data: st.DataObject
) -> None:
    other = data.draw(st.sampled_from(served))
    cuts = [name] if data.draw(st.booleans()) and not name.startswith("*") and name != ZONE else []
    before, after = ZoneModel(ZONE, served), ZoneModel(ZONE, {*served, name}, cuts)
    if may_affect(name, other, ZONE, cut=bool(cuts)) or name in served:
        return
    if other != ZONES_WILDCARD:
        assert {q for q in QUERIES if before.answers(q) == other} == {q for q in QUERIES if after.answers(q) == other}
    assert name not in {after.answers(query) for query in verifying(other)}


# ---- the plan of a zone: whatever is claimed in whatever order, nobody loses an answer to another namespace

TYPES = {"A": "192.0.2.1", "TXT": "hello", "CNAME": "x.test", "NS": "ns.test"}
WHO = ("a/one", "b/two", "c/three")
RECORDS = st.builds(
    lambda name, type_: f"{name} {type_} {TYPES[type_]}",
    st.sampled_from([name for name in SHORT if name != "@" and name.count(".") < 3]),
    st.sampled_from(sorted(TYPES)),
)
STEPS = st.lists(st.tuples(st.sampled_from(WHO), st.lists(RECORDS, max_size=3, unique=True)), min_size=1, max_size=8)


class Played:
    """A zone that is served by what a plan makes of the claims of several namespaces."""

    def __init__(self) -> None:
        self.provider = MemoryProvider((ZONE,))
        self.plan = ZonePlan(ZONE, rules(hold=0.0))
        self._created: dict[str, str] = {}

    def step(self, number: int, who: str, texts: list[str]) -> None:
        created = self._created.setdefault(who, f"2026-01-01T00:00:{number:02}Z")
        claims = tuple(self._claim(who, text, index, created) for index, text in enumerate(texts))
        changed: dict[object, ObjectClaims | None] = {ref(who): ObjectClaims(ref(who), claims) if claims else None}
        for _ in range(4):
            self.plan.follow(self.provider.content(ZONE), changed, frozenset(("crd",)))  # type: ignore[arg-type]
            if not self.plan.changes:
                return
            for change in self.plan.changes:
                for part in change.parts:
                    if part.before is not None:
                        self.provider.remove(part.before.name, part.before.type)
                    if part.after is not None:
                        self.provider.put(part.after)
            changed = {}
        raise AssertionError("the plan does not come to rest")

    @staticmethod
    def _claim(who: str, text: str, index: int, created: str) -> Claim:
        return replace(claim(who, text, index=index), created=created)

    def holders(self) -> dict[str, str]:
        """The namespace of each name that is served."""
        records = self.provider.content(ZONE)
        found = {}
        for record in records:
            for slot, ownership in self.plan.registry.at(record.name).items():
                if slot == record.slot:
                    found[record.name] = ownership.resource.split("/")[1]
        return found

    def model(self) -> ZoneModel:
        records = list(self.provider.content(ZONE))
        return ZoneModel(ZONE, {each.name for each in records}, {each.name for each in records if each.type == "NS"})


@given(STEPS)
def test_no_claim_of_a_namespace_changes_the_answers_for_names_of_another(steps: list[tuple[str, list[str]]]) -> None:
    zone = Played()
    for number, (who, texts) in enumerate(steps):
        before, answered = zone.holders(), zone.model()
        zone.step(number, who, texts)
        after, answers = zone.holders(), zone.model()
        for name, namespace in before.items():
            if who.startswith(f"{namespace}/"):
                continue
            assert after.get(name) == namespace
            others = {other for other, holder in after.items() if holder != namespace}
            for query in QUERIES if name != ZONES_WILDCARD else ():
                found = answers.answers(query)
                if answered.answers(query) == name and found != name:
                    assert after.get(found) == namespace, f"{found or 'nothing'} answers {query}"
            for query in verifying(name):
                found = answers.answers(query)
                assert found not in others or found == answered.answers(query), f"{found} answers {query}"
