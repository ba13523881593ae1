"""Logs of HTTP servers: clients' errors are one line at debug level, our own are reported."""

from __future__ import annotations

import pytest
import structlog
from aiohttp.client_exceptions import ClientConnectionResetError
from aiohttp.http_exceptions import BadHttpMessage, TransferEncodingError
from aiohttp.web import RequestPayloadError
from structlog.testing import capture_logs

from seamark_runtime import requestlog
from seamark_runtime.requestlog import RequestLog


@pytest.mark.parametrize(
    "error",
    [
        BadHttpMessage("bad\n  lines\n    ^"),
        TransferEncodingError("x" * 5000),
        ClientConnectionResetError("Cannot write to closing transport"),
        ConnectionResetError(),
        RequestPayloadError(),
    ],
)
def test_what_a_client_does_wrong_is_one_line_at_debug_level(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = structlog.make_filtering_bound_logger("debug")
    monkeypatch.setattr(requestlog, "log", structlog.wrap_logger(None, wrapper_class=everything))
    reported: list[BaseException | None] = []
    with capture_logs() as lines:
        RequestLog(reported.append).exception("Error handling request from %s", "192.0.2.7", exc_info=error)
    assert not reported
    (line,) = lines
    assert line["log_level"] == "debug"
    assert line["reason"] == "Error handling request from 192.0.2.7"
    assert line["error"].startswith(type(error).__name__)
    assert "\n" not in line["error"]
    assert len(line["error"]) <= 200
    assert "exc_info" not in line


def test_an_error_of_our_own_is_reported() -> None:
    reported: list[BaseException | None] = []
    failure = KeyError("x")
    RequestLog(reported.append).exception("Unhandled exception", exc_info=failure)
    try:
        raise failure
    except KeyError:
        RequestLog(reported.append).exception("Unhandled exception")
    assert reported == [failure, failure]


def test_without_a_report_the_traceback_is_logged() -> None:
    with capture_logs() as lines:
        RequestLog().exception("Unhandled exception", exc_info=KeyError("x"))
    assert [(line["log_level"], type(line["exc_info"])) for line in lines] == [("error", KeyError)]
