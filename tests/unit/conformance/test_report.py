"""The last line of a conformance run."""

from __future__ import annotations

from tests.conformance.report import last_line


def test_what_passed_of_what_was_to_pass() -> None:
    core = {"statistics": {"Passed": 36, "Failed": 1, "Skipped": 0}}
    extended = {"statistics": {"Passed": 50, "Failed": 0, "Skipped": 6}}
    report = {
        "profiles": [{"name": "GATEWAY-HTTP", "core": core, "extended": extended}],
        "succeededProvisionalTests": ["one", "two"],
        "failedProvisionalTests": ["three"],
    }
    assert last_line(report) == (
        "conformance: http_core=36/37 http_extended=50/56 grpc_core=0/0 grpc_extended=0/0"
        " tls_core=0/0 tls_extended=0/0 tcp_core=0/0 tcp_extended=0/0 provisional=2/3"
    )


def test_a_run_that_left_no_report_has_passed_nothing() -> None:
    assert last_line({}).startswith("conformance: http_core=0/0 http_extended=0/0 grpc_core=0/0")
