"""The last line, and which bars a run has missed."""

from __future__ import annotations

from tests.witness.faults.fault import Break
from tests.witness.lanes import Times
from tests.witness.ledger import Counts
from tests.witness.report import Outcome


def outcome(counts: Counts, times: Times | None = None) -> Outcome:
    return Outcome(4, counts, times or Times(), ())


def test_the_last_line() -> None:
    line = outcome(Counts(checks=900, late=0.25), Times(faults=40)).last_line()
    assert line == (
        "witness: minutes=4 faults=40 checks=900 false_true=0 late_s=0.2 false_false=0 removed_by_outage=0 flaps=0"
    )


def test_a_run_without_findings_misses_no_bar() -> None:
    times = Times({(Break.SIGNALLED, "killed"): [0.5, 1.0], (Break.SILENT, "frozen"): [4.0, 12.0]})
    assert outcome(Counts(checks=900, false_false=9, late=1.0), times).missed() == []


def test_each_bar_can_be_missed() -> None:
    counts = Counts(checks=100, false_true=1, late=1.5, false_false=2, removed=1, flaps=1)
    times = Times({(Break.SIGNALLED, "killed"): [3.0, None], (Break.SILENT, "frozen"): [9.0, 16.0]})
    assert len(outcome(counts, times).missed()) == 9


def test_a_long_run_has_at_least_ten_faults_a_minute() -> None:
    few, enough = Times(faults=199), Times(faults=200)
    assert Outcome(20, Counts(checks=1), few, ()).missed() == ["faults>=10 a minute"]
    assert Outcome(20, Counts(checks=1), enough, ()).missed() == []


def test_a_break_that_was_never_seen_is_shown_as_such() -> None:
    lines = outcome(Counts(), Times({(Break.SILENT, "dns: frozen"): [2.0, None]})).lines()
    assert "break to not-True, silent, dns: frozen: n=2 p50=2.0 s p100=never" in lines
