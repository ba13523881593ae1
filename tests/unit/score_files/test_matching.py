"""What a runner finds is compared with what is expected, value by value."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.score_files.forms import File, Match, Path, Refused, Request, Text
from tests.score_files.matching import (
    Known,
    Response,
    at,
    file_differs,
    is_named,
    refusal_differs,
    response_differs,
    text_differs,
)

KNOWN = Known({"web/web/HOST": "a.test"}, before="old")


@pytest.mark.parametrize(
    ("expected", "fits", "does_not"),
    [
        ("a", "a", "b"),
        ("a", "a", None),
        (Match(matches="[a-z]+"), "abc", "abc1"),
        (Match(secret=".{8,}"), "12345678", "1234567"),
        (Match(contains="b"), "abc", "ac"),
        (Match(json={"a": [1]}), '{"a":[1]}', '{"a":[2]}'),
        (Match(json=None), "null", "none"),
        (Match(present=True), "a", ""),
        (Match(present=True), "a", None),
        (Match(absent=True), None, ""),
        (Match(unchanged=True), "old", "new"),
        (Match(same_as="web/web/HOST"), "a.test", "b.test"),
        (Match(differs_from="web/web/HOST"), "b.test", "a.test"),
        (Match(contains="a"), "a", None),
    ],
)
def test_a_value_fits_or_the_difference_names_both(expected: Text, fits: str | None, does_not: str | None) -> None:
    assert text_differs(expected, fits, KNOWN) is None
    difference = text_differs(expected, does_not, KNOWN)
    assert difference
    assert "expected" in difference


def test_a_variable_that_was_not_found_is_neither_the_same_nor_another() -> None:
    assert text_differs(Match(same_as="web/web/PORT"), "80", KNOWN)
    assert text_differs(Match(differs_from="web/web/PORT"), "80", KNOWN)


def test_a_file_differs_in_content_bytes_and_mode() -> None:
    assert list(file_differs(File(content="a", mode="0640"), b"a", 0o640)) == []
    assert list(file_differs(File(base64="/w=="), b"\xff", None)) == []
    assert list(file_differs(File(content="a"), None, None)) == ["expected a file, found none"]
    assert list(file_differs(File(base64="/w=="), b"a", None)) == ["expected /w==, found YQ=="]
    assert list(file_differs(File(mode="0640"), b"", 0o644)) == ["expected mode 0640, found 0644"]
    assert list(file_differs(File(mode="0640"), b"", None)) == ["expected mode 0640, found none"]


def request(**fields: Any) -> Request:
    return msgspec.convert({"status": 200, "endpoint": "web", **fields}, Request)


RESPONSE = Response(200, {"x-app": "echo"}, '{"a": {"b": ["x"]}, "n": 1}')


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"headers": {"X-App": "echo"}},
        {"json": {"a.b.0": "x", "n": 1}},
        {"json": {"a.b.0": {"contains": "x"}, "none": None}},
        {"body": {"contains": '"n": 1'}},
    ],
)
def test_a_response_fits(fields: dict[str, Any]) -> None:
    assert list(response_differs(request(**fields), RESPONSE)) == []


@pytest.mark.parametrize(
    ("fields", "difference"),
    [
        ({"status": 404}, "expected status 404, found 200"),
        ({"headers": {"X-App": "other"}}, "header X-App"),
        ({"headers": {"X-None": {"present": True}}}, "header X-None: expected a value, found none"),
        ({"body": "x"}, "body: expected 'x'"),
        ({"json": {"a.b.1": "x"}}, "body: a.b.1: expected 'x', found None"),
        ({"json": {"n": {"matches": "2"}}}, "body: n:"),
    ],
)
def test_a_response_that_differs_is_described(fields: dict[str, Any], difference: str) -> None:
    assert any(line.startswith(difference) for line in response_differs(request(**fields), RESPONSE))


def test_a_body_that_is_no_json_is_described() -> None:
    found = Response(200, {}, "<html>")
    assert list(response_differs(request(json={"a": 1}), found)) == ["body: expected JSON, found '<html>'"]


def test_a_dotted_path_escapes_dots() -> None:
    assert at({"a.b/c": {"d": [{"e": 1}]}}, r"a\.b/c.d.0.e") == 1
    assert at({"a": "text"}, "a.b") is None


FILE: Path = ("containers", "web", "files", "/etc/a.conf", "mode")


@pytest.mark.parametrize(
    "message",
    [
        "containers.web.files./etc/a.conf.mode: must be a string",
        "containers.web.files[/etc/a.conf].mode: must be a string",
        'in containers.web.files["/etc/a.conf"].mode, a number',
        "containers.web.files['/etc/a.conf'].mode",
        r"containers.web.files./etc/a\.conf.mode",
        "/containers/web/files/~1etc~1a.conf/mode is not of type string",
    ],
)
def test_a_path_is_recognised_in_every_usual_notation(message: str) -> None:
    assert is_named(FILE, message)


@pytest.mark.parametrize(
    "message",
    [
        "containers.web.files: invalid",
        "containers.web.files./etc/a.conf.modes",
        "other.containers.web.files./etc/a.conf.mode",
        "a mode must be a string",
    ],
)
def test_another_path_is_not_taken_for_it(message: str) -> None:
    assert not is_named(FILE, message)


def test_an_element_of_a_list_has_its_number() -> None:
    assert is_named(("containers", "web", "args", 1), "containers.web.args[1]: not a string")
    assert is_named(("containers", "web", "args", 1), "containers.web.args.1: not a string")
    assert not is_named(("containers", "web", "args", 1), "containers.web.args[10]: not a string")


def test_a_refusal_names_one_of_its_paths_and_every_mention() -> None:
    expected = Refused(stage="file", paths=(("kind",), ("spec",)), mentions=("TCP", "udp"))
    assert list(refusal_differs(expected, "spec: unknown key; tcp or UDP")) == []
    assert list(refusal_differs(expected, "invalid: TCP")) == [
        "expected the path kind or spec",
        "expected a mention of udp",
    ]
