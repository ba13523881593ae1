"""Objects with very many names, targets and claims: the work stays linear, and what is too much is reported."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest

from seamark.api.dns import Endpoint
from seamark.families.dns.model.desired import MOST_BYTES, desired_records, size_of
from seamark.families.dns.model.rules import Rules
from seamark.families.dns.planning.claims import Claim
from seamark.families.dns.sources.endpoints import endpoints_of
from seamark.families.dns.sources.kinds import SOURCES, AddressSources
from seamark.families.dns.sources.limits import MOST_TARGETS_IN_ALL
from seamark.providers.dns.model import Record
from seamark.providers.dns.txt import Names
from tests.unit.operator.families.dns.zones import ZONE, claim, content, owned, plan, ref, rules

PREFIX = "external-dns.kubernetes.io/"
RULES = Rules(zones=("example.org",))


def service(**annotations: str) -> Any:
    prefixed = {f"{PREFIX}{name.replace('_', '-')}": value for name, value in annotations.items()}
    manifest = {"metadata": {"name": "x", "namespace": "ns", "annotations": prefixed}, "spec": {"type": "ClusterIP"}}
    return msgspec.convert(manifest, SOURCES["service"].kind)


def listed(form: str, count: int) -> str:
    return ",".join(form.format(number) for number in range(count))


def test_names_and_targets_do_not_multiply() -> None:
    names, targets = listed("a{}.example.org", 5_000), listed("10.0.{}.1", 250)
    obj = service(hostname=names, target=targets, record_type="ptr")
    began = time.process_time()
    found = desired_records(endpoints_of(SOURCES["service"], obj, AddressSources()), RULES)
    assert time.process_time() - began < 2
    assert len(found.records) == MOST_TARGETS_IN_ALL / 250
    assert f"more than {MOST_TARGETS_IN_ALL} targets; divide it into several objects" in found.problems[-1].message


def test_an_object_may_have_as_many_targets_as_are_allowed() -> None:
    endpoints = tuple(
        Endpoint(dns_name=f"a{number}.example.org", record_type="A", targets=("192.0.2.1",))
        for number in range(MOST_TARGETS_IN_ALL + 1)
    )
    found = desired_records(endpoints, RULES)
    assert len(found.records) == MOST_TARGETS_IN_ALL
    assert [problem.index for problem in found.problems] == [MOST_TARGETS_IN_ALL]
    assert found.problems[0].message.startswith(f"spec.endpoints[{MOST_TARGETS_IN_ALL}].targets: ")


def test_many_claims_for_one_record_cost_what_they_cost_one_by_one() -> None:
    claims = [claim("a", "www A 192.0.2.1", index=number, ttl=60 + number % 2) for number in range(10_000)]
    began = time.process_time()
    made = plan(content(), *claims)
    assert time.process_time() - began < 2
    assert len(made.decisions) == 10_000


def test_records_served_together_fit_in_a_message_and_later_ones_are_refused() -> None:
    def text(number: int) -> str:
        return f"www TXT {number:04}{'x' * 200}"

    claims = [claim(f"o{number:04}", text(number)) for number in range(10_000)]
    began = time.process_time()
    made = plan(content(), *claims)
    assert time.process_time() - began < 2
    served = made.changes[0].parts[0].record.targets
    assert sum(map(size_of, served)) <= MOST_BYTES
    refused = [decision for decision in made.decisions.values() if decision.reason]
    assert len(refused) == 10_000 - len(served) > 9_000
    assert {decision.reason for decision in refused} == {"Conflict"}
    assert refused[0].message.startswith(f"with the targets of other objects www.{ZONE} TXT has more than {MOST_BYTES}")


def test_what_is_served_stays_when_more_is_claimed_than_fits() -> None:
    texts = [f"www TXT {number:04}{'x' * 200}" for number in range(200)]
    standing = owned("o0199", texts[199])
    made = plan(content(standing), *(claim(f"o{number:04}", text) for number, text in enumerate(texts)))
    assert not made.decisions[(ref("o0199"), 0)].reason
    assert texts[199].removeprefix("www TXT ") in made.changes[0].parts[0].record.targets


@pytest.mark.parametrize("removed", [True, False], ids=["all removed", "all claimed"])
def test_many_records_on_one_ownership_without_a_type_cost_what_they_cost_one_by_one(removed: bool) -> None:
    under = rules(names=Names(prefix="txt-"), set_identifiers=True)
    value = under.values.encode({"owner": "me", "resource": "crd/default/a"})
    older = Record(f"txt-www.{ZONE}", "TXT", (value,), 300)
    count = 10_000
    sets = [Record(f"www.{ZONE}", "A", ("192.0.2.1",), 300, str(number)) for number in range(count)]
    claims = () if removed else tuple(Claim(ref("a"), number, wanted) for number, wanted in enumerate(sets))
    holds = content(*sets, older)
    began = time.process_time()
    made = plan(holds, *claims, under=under)
    assert time.process_time() - began < 2
    if removed:
        assert len(made.changes) == count
        parts = [part for change in made.changes for part in change.parts]
        assert [part.before for part in parts if part.record.type == "TXT"] == [older], "and it goes once"
    else:
        assert made.changes == ()
