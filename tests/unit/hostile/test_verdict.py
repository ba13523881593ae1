"""A judge that could not find a silence, a crossing, a stall or a crash would prove nothing."""

from __future__ import annotations

import base64
import pathlib
from typing import Any

import pytest

from tests.hostile.bases import Base
from tests.hostile.cases import Case, fast, planned
from tests.hostile.corpus import Entry
from tests.hostile.documents import encoded
from tests.hostile.instances import known
from tests.hostile.known_names import CANARY, CANARY_TLS
from tests.hostile.metadata import FINALIZERS, forged, metadata_fields
from tests.hostile.observers import Metrics
from tests.hostile.programs import Loop, Program, failures, loop_of
from tests.hostile.report import Report
from tests.hostile.results import Result, Tally, judged_fields
from tests.hostile.schema import Field, Path
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
    reasons,
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


def test_a_process_without_the_gauge_measures_nothing() -> None:
    lag = 'seamark_loop_lag_seconds_bucket{le="0.1"} 3.0\nseamark_loop_lag_seconds_bucket{le="0.2"} 4.0\n'
    assert loop_of(lag).block_ms is None
    assert loop_of(lag + "seamark_loop_longest_block_seconds 0.031\n").block_ms == pytest.approx(31)


def test_the_worst_of_each_process_is_kept_over_its_restarts() -> None:
    programs = [Program(name, [], {}, pathlib.Path("log")) for name in ("operator", "edge", "agent")]
    metrics = Metrics(programs, lambda: ["Thing h-1"])
    for name, block, crashed in (("operator", 20.0, 3.0), ("operator", 60.0, 4.0), ("operator", 1.0, 1.0)):
        metrics.heard(name, Loop(block, crashed))
    metrics.heard("edge", Loop(0.0))
    assert metrics.blocks == {"operator": 60.0, "edge": 0.0, "agent": None}
    assert metrics.crashed == 5.0
    assert metrics.blamed == ["operator: the loop was held for 60 ms, with Thing h-1"]


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
    report = Report(kinds=1, fields=2, done=2, stalled_ms=12.4, second_run_mb=1.25)
    report.loop_blocks = {"operator": 31.0, "edge": 12.0}
    report.count(tally)
    assert report.failed
    assert report.lines()[-1] == (
        "hostile: kinds=1 fields=2/2 cases=3 crashed=1 crossed=0 silent=2 stalled_ms=12 loop_block_ms=31"
        " second_run_mb=1.2"
    )


def test_a_whole_run_misses_its_limits_by_name() -> None:
    report = Report(fields=2, done=1, stalled_ms=251, second_run_mb=21)
    assert [words.split()[0] for words in report.missed] == ["stalled_ms", "second_run_mb", "1"]
    assert not Report(fields=2, done=2, stalled_ms=250, second_run_mb=20).missed


def test_a_loop_that_is_held_fails_every_run_and_so_does_one_that_is_not_measured() -> None:
    assert not Report(loop_blocks={"operator": 50.0, "agent": 0.0}).failed
    report = Report(loop_blocks={"operator": 50.0, "forwarder": 51.0, "agent": None})
    assert report.failed
    assert report.held == [
        "loop_block_ms of agent was never measured",
        "loop_block_ms of forwarder is 51, at most 50 are allowed",
    ]


def test_a_process_that_ended_counts_even_if_no_case_repeats_it() -> None:
    report = Report()
    report.count(Tally(restarts=["operator ended"], unblamed=["operator ended; none of them does it alone"]))
    assert len(report.crashed) == 1


def test_cases_that_were_given_up_are_a_failure() -> None:
    report = Report()
    report.count(Tally(given_up=3))
    assert report.failed


def test_one_slow_sample_of_the_baseline_hides_no_stall() -> None:
    before = {"dns": [*[0.1] * 199, 3.0]}
    assert stalled_ms(before, {"dns": [2.0]}) == pytest.approx(1900)
    assert stalled_ms({"dns": [0.1, 3.0]}, {"dns": [2.0]}) == 0, "of two samples neither is an accident"
    assert stalled_ms({}, {"dns": [2.0]}) == 2000


def test_fields_whose_cases_can_not_be_judged_do_not_count_as_done() -> None:
    def result(kind: str, outcome: Outcome, name: str = "a") -> Result:
        base = Base({"kind": kind, "apiVersion": "v1"})
        return Result(Case(kind, ("spec", name), PLAIN, base), outcome)

    fields = [Field(kind, ("spec", name), "string") for kind in ("Service", "UDPRoute") for name in ("a", "b")]
    results = [result("Service", Outcome.UNUSED), result("UDPRoute", Outcome.UNUSED)]
    done, unjudged = judged_fields(fields, results)
    assert (done, unjudged) == ({("Service", ("spec", "a"))}, {"UDPRoute": 2})
    done, unjudged = judged_fields(fields, [*results, result("UDPRoute", Outcome.REFUSED)])
    assert (len(done), unjudged) == (2, {"UDPRoute": 1})
    report = Report(fields=4, done=1, unjudged=2)
    assert report.missed == ["1 fields were not tried"]


def test_limits_that_were_missed_come_before_the_summary() -> None:
    report = Report(fields=2, done=2, stalled_ms=400)
    assert [line.split()[0] for line in report.lines()[-2:]] == ["stalled_ms", "hostile:"]
    assert not any(line.startswith("stalled_ms") for line in report.lines(whole=False))


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


def test_what_a_schema_leaves_open_becomes_unreadable_after_it_was_served() -> None:
    policy = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec = {"type": "object", "properties": {"name": {"type": "string"}, "policy": policy}}
    base = Base({"kind": "A", "apiVersion": "v1", "metadata": {}, "spec": {"name": "{name}", "policy": {"a": 1}}})
    plan = planned({"A": [base]}, {"A": ({"properties": {"spec": spec}}, {})}, per_group=1, seed=1)
    (update,) = [case for case in plan.cases if case.entry.group == "update"]
    assert update.object({"name": "h-1"})["spec"]["policy"] == {"a": 1}
    assert b"[" * 1_200 in encoded(update.after[0]["spec"]["policy"])


def test_an_endpoint_where_no_tenant_may_lead_anybody_has_to_be_named_as_that() -> None:
    expected = {case.reason for case in known("192.0.2.1") if case.kind == "EndpointSlice"}
    assert expected == {"AddressNotAllowed"}
    assert expected <= reasons({"parents": [{"conditions": [{"reason": "Accepted"}, {"reason": "AddressNotAllowed"}]}]})
    assert not expected & reasons({"conditions": [{"reason": "EndpointsSilent"}]})


def test_metadata_is_forged_in_every_kind() -> None:
    found = {field.path[1] for field in metadata_fields(["Thing"])}
    assert found == {"managedFields", "ownerReferences", "finalizers"}
    kept = next(field for field in metadata_fields(["Thing"]) if field.path[1] == "finalizers")
    assert forged(kept, "v1")[0].value == list(FINALIZERS)
