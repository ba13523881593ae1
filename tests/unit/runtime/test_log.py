"""Logs: one event per line, and never a secret."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
import structlog

from seamark_runtime import log
from seamark_runtime.redaction import HIDDEN, redact

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl"
KEY = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIrY\n-----END EC PRIVATE KEY-----"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def logged(out: io.StringIO | None = None, **values: Any) -> str:
    out = out or io.StringIO()
    log.configure("info", out=out)
    structlog.get_logger().info("something", **values)
    return out.getvalue()


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("Authorization: Bearer abcdefghijkl", f"Authorization: {HIDDEN}"),
        (f"token {JWT} expired", f"token {HIDDEN} expired"),
        (f"key:\n{KEY}\nafter", f"key:\n{HIDDEN}\nafter"),
        ("GET https://me:hunter2@host/x", f"GET https://{HIDDEN}@host/x"),
        ("GET https://host/x?access_token=abc123&y=1", f"GET https://host/x?access_token={HIDDEN}&y=1"),
        ("password=hunter2 was refused", f"password={HIDDEN} was refused"),
        ("lamps.test.seamark.dev is forbidden", "lamps.test.seamark.dev is forbidden"),
        ("the token: not valid any more", "the token: not valid any more"),
    ],
)
def test_what_looks_like_a_secret_is_not_in_the_text(text: str, safe: str) -> None:
    assert redact(text) == safe


@pytest.mark.parametrize("out", [io.StringIO, Terminal], ids=["as JSON", "for people"])
@pytest.mark.parametrize(
    "values",
    [
        {"token": "hunter2"},
        {"api_key": "hunter2"},
        {"apiKey": "hunter2"},
        {"api-key": "hunter2"},
        {"client_secret": "hunter2"},
        {"headers": {"Authorization": "hunter2"}},
        {"nested": {"list": [{"password": "hunter2"}]}},
        {"urls": ["https://me:hunter2@host"]},
        {"urls": ("https://me:hunter2@host",)},
        {"error": ValueError("https://me:hunter2@host")},
        {"body": b"password=hunter2"},
    ],
    ids=str,
)
def test_a_secret_is_written_nowhere(out: type[io.StringIO], values: dict[str, Any]) -> None:
    text = logged(out(), **values)
    assert "something" in text
    assert "hunter2" not in text


@pytest.mark.parametrize("out", [io.StringIO, Terminal], ids=["as JSON", "for people"])
def test_a_traceback_has_no_secret_either(out: type[io.StringIO]) -> None:
    stream = out()
    log.configure("info", out=stream)
    try:
        raise ValueError("can't reach https://me:hunter2@host")
    except ValueError:
        structlog.get_logger().exception("failed")
    text = stream.getvalue()
    assert "Traceback" in text
    assert "can't reach" in text
    assert "hunter2" not in text


def test_values_that_are_no_secrets_stay_as_they_are() -> None:
    event = json.loads(logged(count=3, ratio=0.5, fine=True, nothing=None, names=["a", "b"], key="ns/a"))
    assert event["event"] == "something"
    assert event["level"] == "info"
    assert {name: event[name] for name in ("count", "ratio", "fine", "nothing", "names", "key")} == {
        "count": 3,
        "ratio": 0.5,
        "fine": True,
        "nothing": None,
        "names": ["a", "b"],
        "key": "ns/a",
    }


def test_each_event_is_one_line() -> None:
    assert logged(text="two\nlines").count("\n") == 1


def test_the_level_can_change_while_the_program_runs() -> None:
    out = io.StringIO()
    log.configure("warning", out=out)
    logger = structlog.get_logger()
    logger.info("quiet")
    log.configure("debug", out=out)
    logger.debug("loud")
    assert "quiet" not in out.getvalue()
    assert "loud" in out.getvalue()
