"""A part of `make hostile ARGS=--edge`: no agent, caller or client brings an edge down, or is noticed by others."""

from __future__ import annotations

from tests.hostile.edge.run import Options, Report, run


def test_attacks_at_every_port_are_refused_or_served_and_the_honest_client_does_not_notice() -> None:
    report = run(Options(fast=True))
    noticed = [words for words in report.failures if "stalled_ms is" not in words]  # that is for a machine of one's own
    assert noticed == [], report.line()
    assert (len(report.tally.ports), report.tally.cases > 500) == (7, True)
    assert report.stalled_ms < 2_000, report.line()


def test_a_report_fails_by_each_of_its_limits() -> None:
    assert Report().failures == []
    for broken in (Report(stalled_ms=300), Report(block_ms=60), Report(growth_mb=30)):
        assert len(broken.failures) == 1
