"""What the witness counts, by example: claims and answers at given times."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.witness.api import Json, Key
from tests.witness.claims import CLAIMS, SHELF, Claim
from tests.witness.clients import Answer
from tests.witness.ledger import Finding, Ledger
from tests.witness.windows import LEASE, SETTLE, Window, Windows

KEY: Key = ("DNSEndpoint", "names", "d1")
(CLAIM,) = (claim for claim in CLAIMS if claim.kind == "DNSEndpoint")


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(Windows(), lambda finding: None)


def names(ledger: Ledger) -> list[str]:
    return [finding.kind for finding in ledger.findings]


def status(ledger: Ledger, at: float, value: str, reason: str = "Any", **more: object) -> None:
    condition = {"type": "Ready", "status": value, "reason": reason, "message": "any"}
    obj: Json = {"kind": KEY[0], "metadata": {"namespace": KEY[1], "name": KEY[2], "generation": 1}}
    ledger.seen({**obj, "spec": {}, "status": {"conditions": [condition]}, **more}, False, at)


def client(ledger: Ledger, at: float, good: bool, claim: Claim = CLAIM) -> None:
    ledger.answered(claim, KEY, Answer(good, "dig", at, at + 0.1))


def fault(ledger: Ledger, begin: float, end: float, **more: bool) -> Window:
    window = Window("a fault", begin, lambda key: key == KEY, end=end, **more)  # type: ignore[arg-type]
    return ledger.windows.open(window)


def test_a_true_whose_client_fails_for_longer_than_the_shelf_life_is_false(ledger: Ledger) -> None:
    status(ledger, 0, "True")
    for at in range(10, 30):
        client(ledger, at, good=False)
    assert names(ledger) == ["false_true"]  # once for the whole time
    assert ledger.counts.false_true == 1
    assert ledger.counts.late == pytest.approx(29 - 10 - SHELF)


def test_within_the_shelf_life_it_may_be_true(ledger: Ledger) -> None:
    status(ledger, 0, "True")
    client(ledger, 10, good=False)
    client(ledger, 10 + SHELF, good=False)
    status(ledger, 10.5 + SHELF, "Unknown")
    client(ledger, 15 + SHELF, good=False)
    assert ledger.counts.false_true == 0
    assert ledger.counts.late == 0


def test_a_client_that_succeeds_in_between_begins_anew(ledger: Ledger) -> None:
    status(ledger, 0, "True")
    for at in (10, 20, 30, 40):
        client(ledger, at, good=False)
        client(ledger, at + 5, good=True)
    assert ledger.counts.false_true == 0


def test_true_again_while_the_client_still_fails_is_false_at_once_after_the_shelf_life(ledger: Ledger) -> None:
    fault(ledger, 9, 100)
    status(ledger, 0, "True")
    client(ledger, 10, good=False)
    status(ledger, 12, "Unknown")
    status(ledger, 30, "True")
    client(ledger, 31, good=False)
    assert names(ledger) == ["false_true"]


def test_an_operator_that_can_not_write_is_not_late_until_a_leader_was_there_for_a_shelf_life(ledger: Ledger) -> None:
    status(ledger, 0, "True")
    fault(ledger, 5, 50, mutes=True)
    ledger.windows.renewed(60)
    for at in (10, 40, 55, 74):
        client(ledger, at, good=False)
    assert ledger.counts.false_true == 0
    client(ledger, 60 + SHELF + 2, good=False)
    assert ledger.counts.false_true == 1


def test_without_a_leader_the_time_runs_again_in_the_end(ledger: Ledger) -> None:
    status(ledger, 0, "True")
    fault(ledger, 5, 50, mutes=True)
    client(ledger, 50 + LEASE - 1, good=False)
    client(ledger, 50 + LEASE + SHELF + 2, good=False)
    assert ledger.counts.false_true == 1


def test_a_false_whose_client_succeeds_is_denied_and_each_check_counts(ledger: Ledger) -> None:
    status(ledger, 0, "False")
    for at in (1, 10, 20, 30):
        client(ledger, at, good=True)
    assert names(ledger) == ["false_false"]
    assert ledger.counts.false_false == 2
    assert ledger.counts.checks == 4


def test_a_condition_of_which_a_client_sees_a_part_may_be_false_and_never_true_for_nothing(ledger: Ledger) -> None:
    partly = replace(CLAIM, denies=False)
    status(ledger, 0, "False")
    for at in (1, 10, 20, 30):
        client(ledger, at, good=True, claim=partly)
    assert names(ledger) == []
    status(ledger, 31, "True")
    client(ledger, 32, good=False, claim=partly)
    client(ledger, 34 + SHELF, good=False, claim=partly)
    assert names(ledger) == ["false_true"]


def test_a_false_is_not_denied_before_a_client_had_time_to_see_it(ledger: Ledger) -> None:
    status(ledger, 0, "True")
    fault(ledger, 29, 40)
    for at in range(30):
        client(ledger, at, good=True)
    status(ledger, 30, "False")
    client(ledger, 30.1, good=True)
    client(ledger, 32, good=False)
    assert not ledger.findings


def test_unknown_is_right_while_a_fault_keeps_the_product_from_asking(ledger: Ledger) -> None:
    status(ledger, 0, "True")
    fault(ledger, 5, 40)
    status(ledger, 10, "Unknown")
    for at in (1, 20, 40):
        client(ledger, at, good=True)
    assert not ledger.findings
    client(ledger, 41 + SHELF, good=True)
    assert names(ledger) == ["false_false"]


def test_a_change_without_a_fault_is_a_flap(ledger: Ledger) -> None:
    status(ledger, 0, "True")
    status(ledger, 100, "Unknown")
    assert names(ledger) == ["flap"]


def test_a_change_by_a_fault_or_soon_after_its_repair_is_none(ledger: Ledger) -> None:
    status(ledger, 0, "True")
    fault(ledger, 99, 110)
    status(ledger, 100, "False")
    status(ledger, 110 + SETTLE - 1, "True")
    assert not ledger.findings
    status(ledger, 110 + SETTLE + 1, "False")
    assert names(ledger) == ["flap"]


def test_a_new_object_may_take_its_time(ledger: Ledger) -> None:
    status(ledger, 0, "Unknown")
    status(ledger, 5, "False")
    status(ledger, 10, "True")
    assert not ledger.findings


def test_an_address_that_vanishes_in_an_outage_is_removed_by_it(ledger: Ledger) -> None:
    key: Key = ("Gateway", "gw", "plain")
    obj: Json = {"kind": key[0], "metadata": {"namespace": key[1], "name": key[2]}, "spec": {}}
    ledger.seen({**obj, "status": {"addresses": [{"value": "172.30.0.1"}]}}, False, 0)
    ledger.windows.open(Window("outage", 5, lambda other: True, outage=True))
    ledger.seen({**obj, "status": {}}, False, 10)
    assert names(ledger) == ["removed"]
    assert ledger.counts.removed == 1


def test_a_client_that_an_outage_does_not_concern_must_not_fail_by_it(ledger: Ledger) -> None:
    status(ledger, 0, "True")
    client(ledger, 1, good=True)
    fault(ledger, 5, 40, outage=True)
    client(ledger, 10, good=False)
    assert names(ledger) == ["removed"]


def test_each_finding_is_told_once_with_the_object_the_message_and_what_the_client_saw() -> None:
    told: list[Finding] = []
    ledger = Ledger(Windows(), told.append)
    status(ledger, 0, "True", "Programmed")
    for at in range(10, 40):
        client(ledger, at, good=False)
    (finding,) = told
    assert finding.key == KEY
    assert finding.condition == "Ready"
    assert "Programmed: any" in finding.text
    assert "dig" in finding.text


def leaves(ledger: Ledger, at: float, value: str) -> None:
    """The object is deleted, and has this status until its finalizer is gone."""
    condition = {"type": "Ready", "status": value, "reason": "Any", "message": "any"}
    metadata = {"namespace": KEY[1], "name": KEY[2], "generation": 1, "deletionTimestamp": "2026-01-01T00:00:00Z"}
    obj: Json = {"kind": KEY[0], "metadata": metadata, "spec": {}, "status": {"conditions": [condition]}}
    ledger.seen(obj, False, at)


def test_an_object_that_is_deleted_may_lose_its_clients_and_be_not_true(ledger: Ledger) -> None:
    status(ledger, 0, "True")
    client(ledger, 1, good=True)
    fault(ledger, 2, 60, outage=True)
    leaves(ledger, 3, "False")
    for at in range(4, 30):
        client(ledger, at, good=True)
    client(ledger, 31, good=False)
    assert names(ledger) == []


def test_an_object_that_is_deleted_may_not_be_true_for_longer_than_its_clients_succeed(ledger: Ledger) -> None:
    status(ledger, 0, "True")
    leaves(ledger, 3, "True")
    for at in range(10, 30):
        client(ledger, at, good=False)
    assert names(ledger) == ["false_true"]
