"""A judge that could not find a silence, a crossing, a stall or a crash would prove nothing."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.hostile.bases import Base
from tests.hostile.cases import Case, fast, planned
from tests.hostile.corpus import Entry
from tests.hostile.known_names import CANARY, CANARY_TLS
from tests.hostile.metadata import FINALIZERS, forged, metadata_fields
from tests.hostile.programs import failures, loop_of
from tests.hostile.report import Report
from tests.hostile.results import Result, Tally
from tests.hostile.schema import Path
from tests.hostile.tenants import Markers, encodings
from tests.hostile.verdict import (
    DEFAULT_TIME,
    Outcome,
    Seen,
    decided,
    forbidden,
    good,
    judged,
    not_ours,
    percentile,
    spoken,
    stalled_ms,
)

NAME: Path = ("spec", "name")
PLAIN = Entry("length", "64", "x" * 64)


def condition(
    status: str, type_: str = "Ready", time: str = "2026-01-01T00:00:00Z", generation: int = 1
) -> dict[str, Any]:
    return {"type": type_, "status": status, "lastTransitionTime": time, "observedGeneration": generation}


def status(*conditions: dict[str, Any]) -> dict[str, Any]:
    return {"conditions": list(conditions)}


PENDING = status(condition("Unknown", time=DEFAULT_TIME))


def outcome(
    seen: Seen, kind: str = "Thing", path: Path = NAME, entry: Entry = PLAIN, *, speaks: bool = True
) -> Outcome:
    return judged(seen, kind, path, entry, base_speaks=speaks)


def test_what_the_api_server_refuses_is_refused() -> None:
    assert outcome(Seen(422)) is Outcome.REFUSED


def test_a_condition_that_only_the_definition_has_written_is_silence() -> None:
    assert outcome(Seen(201, PENDING, 1)) is Outcome.SILENT


def test_no_status_at_all_is_silence() -> None:
    assert outcome(Seen(201, None, 1)) is Outcome.SILENT


def test_a_condition_about_an_earlier_generation_is_silence() -> None:
    assert outcome(Seen(201, status(condition("True", generation=1)), 2)) is Outcome.SILENT


def test_an_event_breaks_the_silence() -> None:
    assert outcome(Seen(201, PENDING, 1, events=("Unreadable",))) is Outcome.REPORTED


def test_a_condition_that_is_not_good_is_a_report() -> None:
    assert outcome(Seen(201, status(condition("True"), condition("False", "Accepted")), 1)) is Outcome.REPORTED


def test_good_conditions_are_a_service() -> None:
    assert outcome(Seen(201, status(condition("True"), condition("False", "Conflicted")), 1)) is Outcome.SERVED


def test_where_nothing_is_said_of_the_base_nothing_need_be_said() -> None:
    assert outcome(Seen(201, None, 1), speaks=False) is Outcome.UNUSED


def test_silence_is_right_for_what_is_another_controllers() -> None:
    assert outcome(Seen(201, PENDING, 1), "Gateway", ("spec", "gatewayClassName")) is Outcome.NOT_OURS
    assert outcome(Seen(201, PENDING, 1), "Gateway", ("spec", "listeners")) is Outcome.SILENT
    assert not_ours("HTTPRoute", ("spec", "parentRefs", "[]", "name"))
    assert not not_ours("HTTPRoute", ("spec", "hostnames"))


def test_a_marker_that_shows_is_a_crossing_whatever_the_status_says() -> None:
    assert outcome(Seen(201, status(condition("False")), 1, leaks=("a marker",))) is Outcome.CROSSED


def test_a_reference_into_the_canarys_namespace_that_is_good_is_a_crossing() -> None:
    path = ("spec", "listeners", "[]", "tls", "certificateRefs", "[]", "name")
    entry = Entry("traversal", "secret", f"../../{CANARY}/secrets/{CANARY_TLS}")
    assert outcome(Seen(201, status(condition("True")), 1), "Gateway", path, entry) is Outcome.CROSSED
    assert outcome(Seen(201, status(condition("False")), 1), "Gateway", path, entry) is Outcome.REPORTED
    assert not forbidden(("spec", "description"), entry), "which is a text"
    assert not forbidden(("spec", "backendRefs", "[]", "filters", "[]", "name"), entry), "which is a header's name"
    assert forbidden(("spec", "upstream", "url"), Entry("foreign", "service", f"tcp://web.{CANARY}:80"))


def test_conditions_inside_of_entries_count() -> None:
    parents = {"parents": [{"conditions": [condition("True", "Accepted")]}]}
    assert spoken(parents, 1)
    assert good(parents, 1)
    assert decided(parents, 1)
    assert not decided(status(condition("Unknown")), 1)


def test_a_phase_counts_where_a_kind_has_no_conditions() -> None:
    assert good({"phase": "Bound", "observedGeneration": 1}, 1)
    assert spoken({"phase": "Failed", "observedGeneration": 1}, 1)
    assert not spoken({"phase": "Bound", "observedGeneration": 1}, 2)


def test_a_stall_is_what_comes_on_top_of_the_longest_before() -> None:
    before = {"dns": [0.1, 0.5], "sample": [0.1]}
    assert stalled_ms(before, {"dns": [0.4], "sample": [0.1]}) == 0
    assert stalled_ms(before, {"dns": [0.5], "sample": [0.4]}) == pytest.approx(300)


def test_percentiles() -> None:
    assert percentile([float(n) for n in range(1000)], 0.999) == 999
    assert percentile([], 0.999) == 0


# ---- logs and metrics


def test_a_traceback_in_the_log_is_a_failure_that_names_its_case() -> None:
    line = '{"item": "dns hostile/h-12", "event": "a pass failed", "exception": "Traceback...\\nValueError: x"}'
    quiet = '{"item": "dns hostile/h-13", "event": "will try again"}'
    (failure,) = failures("operator", f"{quiet}\n{line}\n")
    assert failure.cases == {"h-12"}
    assert "ValueError: x" in failure.words


def test_a_task_whose_exception_nobody_took_is_a_failure() -> None:
    assert failures("agent", "Task exception was never retrieved\n")


def test_the_loop_is_measured_by_the_gauge_where_there_is_one() -> None:
    lag = 'seamark_loop_lag_seconds_bucket{le="0.1"} 3.0\nseamark_loop_lag_seconds_bucket{le="0.2"} 4.0\n'
    more = 'seamark_loop_lag_seconds_bucket{le="+Inf"} 4.0\n'
    assert loop_of(lag + more).block_ms == pytest.approx(200)
    assert loop_of(lag + more + "seamark_loop_longest_block_seconds 0.031\n").block_ms == pytest.approx(31)


def test_crashed_reconciles_are_counted_over_all_kinds() -> None:
    text = "".join(f'seamark_reconcile_outcomes_total{{kind="{k}",outcome="crashed"}} 2.0\n' for k in "ab")
    assert loop_of(text).crashed == 4


# ---- markers


def test_a_marker_is_found_inside_of_any_base64() -> None:
    markers = Markers(key="MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg")
    for before in ("", "a", "ab", "abc"):
        shown = base64.b64encode(f"{before}{markers.word}{before}".encode())
        assert any(text in shown for text in markers.texts), before
    assert not any(text in b"nothing of the kind" for text in markers.texts)
    assert all(len(form) > 20 for form in encodings(markers.word.encode()))


# ---- the whole


def case(kind: str = "Thing", group: str = "length") -> Case:
    return Case(kind, NAME, Entry(group, "x", "x"), Base({"kind": kind, "apiVersion": "v1"}))


def test_the_last_line() -> None:
    tally = Tally([Result(case(), Outcome.SILENT), Result(case(), Outcome.CRASHED), Result(case(), Outcome.SERVED)])
    tally.stuck.append("Thing h-9")
    report = Report(kinds=1, fields=2, done=2, stalled_ms=12.4, loop_block_ms=31, second_run_mb=1.25)
    report.count(tally)
    assert report.failed
    assert report.lines()[-1] == (
        "hostile: kinds=1 fields=2/2 cases=3 crashed=1 crossed=0 silent=2 stalled_ms=12 loop_block_ms=31"
        " second_run_mb=1.2"
    )


def test_a_whole_run_misses_its_limits_by_name() -> None:
    report = Report(fields=2, done=1, stalled_ms=251, loop_block_ms=51, second_run_mb=21)
    assert [words.split()[0] for words in report.missed] == ["stalled_ms", "loop_block_ms", "second_run_mb", "1"]
    assert not Report(fields=2, done=2, stalled_ms=250, loop_block_ms=50, second_run_mb=20).missed


def test_a_process_that_ended_counts_even_if_no_case_repeats_it() -> None:
    report = Report()
    report.count(Tally(restarts=["operator ended"], unblamed=["operator ended; none of them does it alone"]))
    assert len(report.crashed) == 1


def test_cases_that_were_given_up_are_a_failure() -> None:
    report = Report()
    report.count(Tally(given_up=3))
    assert report.failed


def test_the_fast_run_has_every_kind_and_class_before_any_comes_again() -> None:
    names = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    bases = {
        kind: [Base({"kind": kind, "apiVersion": "v1", "metadata": {}, "spec": {"a": "x"}})] for kind in ("A", "B")
    }
    plan = planned(bases, dict.fromkeys(bases, (names, {})), per_group=2, seed=1)
    pairs = {(each.kind, each.entry.group) for each in plan.cases}
    assert {(each.kind, each.entry.group) for each in fast(plan, len(pairs))} == pairs


def test_what_no_base_reaches_is_left_out_by_name() -> None:
    whole = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    plan = planned({"A": [Base({"kind": "A", "apiVersion": "v1"})]}, {"A": (whole, {})}, per_group=1, seed=1)
    assert plan.left_out["A spec.a"] == "no base manifest has a place for it"


def test_metadata_is_forged_in_every_kind() -> None:
    found = {field.path[1] for field in metadata_fields(["Thing"])}
    assert found == {"managedFields", "ownerReferences", "finalizers"}
    kept = next(field for field in metadata_fields(["Thing"]) if field.path[1] == "finalizers")
    assert forged(kept, "v1")[0].value == list(FINALIZERS)
