"""What an injector measures of a fault: from a break to not-True."""

from __future__ import annotations

from tests.witness.api import Json, Key
from tests.witness.claims import claims_of, leading
from tests.witness.clients import Answer
from tests.witness.faults.fault import Break, Fault
from tests.witness.lanes import Injector, Times
from tests.witness.ledger import Ledger
from tests.witness.windows import Window, Windows

KEY: Key = ("Gateway", "gw", "secure")
FROZEN = Fault("frozen Envoy gw/secure", "gateway", Break.SILENT, (KEY,), lambda: None)
OF_THE_LISTENER: Json = {"type": "ResolvedRefs", "status": "True", "reason": "ResolvedRefs", "message": ""}


def gateway(programmed: str) -> Json:
    spec: Json = {"listeners": [{"protocol": "HTTPS", "port": 443}]}
    condition = {"type": "Programmed", "status": programmed, "reason": "Any", "message": ""}
    status = {"conditions": [condition], "listeners": [{"conditions": [OF_THE_LISTENER]}]}
    return {"kind": KEY[0], "metadata": {"namespace": KEY[1], "name": KEY[2]}, "spec": spec, "status": status}


LEADING = tuple(leading(gateway("True")))


def measured(ledger: Ledger, seconds: float) -> list[float | None]:
    times = Times()
    Injector(ledger, times, lambda text: None, lambda concerned: None)._measure(
        FROZEN, Window("frozen", 10.0, FROZEN.touched, end=10.0 + seconds)
    )
    return [moment for moments in times.by_name.values() for moment in moments]


def broken() -> Ledger:
    """Both claims of the gateway are True at 0, and their clients fail from 11 on."""
    ledger = Ledger(Windows(), lambda finding: None)
    ledger.seen(gateway("True"), False, 0.0)
    for claim in claims_of(gateway("True")):
        ledger.answered(claim, KEY, Answer(False, "curl", 11.0, 12.0))
    return ledger


def still_broken(until: float) -> Ledger:
    ledger = broken()
    for claim in claims_of(gateway("True")):
        ledger.answered(claim, KEY, Answer(False, "curl", until - 1, until))
    return ledger


def test_a_claim_within_another_condition_ends_with_it() -> None:
    ledger = broken()
    ledger.seen(gateway("False"), False, 17.0)
    assert measured(ledger, 30.0) == [7.0, 7.0]


def test_a_fault_does_not_wait_for_claims_beside_the_leading_ones() -> None:
    ledger = broken()
    found = {claim.condition for claim in claims_of(gateway("True"))} - {claim.condition for claim in LEADING}
    assert found == {"listener Programmed"}
    ledger.seen(gateway("False"), False, 17.0)
    injector = Injector(ledger, Times(), lambda text: None, lambda concerned: None)
    assert injector._noticed(KEY, Window("frozen", 10.0, FROZEN.touched))


def test_what_stays_true_until_the_repair_is_never_noticed() -> None:
    assert measured(still_broken(40.0), 30.0) == [None, None]


def test_what_is_reached_again_within_the_shelf_life_was_never_false() -> None:
    ledger = broken()
    for claim in claims_of(gateway("True")):
        ledger.answered(claim, KEY, Answer(True, "curl", 13.0, 13.1))
    assert measured(ledger, 30.0) == []


def test_a_fault_that_the_end_of_the_run_cut_short_is_not_measured() -> None:
    assert measured(broken(), 5.0) == []
