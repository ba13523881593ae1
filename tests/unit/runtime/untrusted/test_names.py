"""Names become path segments in one place, and none leads out of its level."""

from __future__ import annotations

import pytest

from seamark_runtime.untrusted.names import InvalidName, NameRule, api_path, check_name, is_name

TRAVERSALS = ["..", ".", "../x", "../../tenant-b/secrets/victim-tls", "a/b", "a/../b", "/", "a\0b", ""]
BAD = [
    *TRAVERSALS,
    "%2e%2e",
    "a%2fb",
    "A",
    "ä",
    "a_b",
    "a b",
    "a\n",
    "\u2025",
    "a?b",
    "a#b",
    "-a",
    "a-",
    "a..b",
    "x" * 254,
]


@pytest.mark.parametrize("name", BAD, ids=ascii)
def test_a_name_outside_of_its_rule_is_refused(name: str) -> None:
    with pytest.raises(InvalidName, match="must be a DNS subdomain"):
        check_name(name)


@pytest.mark.parametrize("name", ["a", "a.b-c", "0", "x" * 253, "kube-root-ca.crt"])
def test_a_legal_name_stays_as_it_is(name: str) -> None:
    assert check_name(name) == name


def test_labels_and_segments_have_rules_of_their_own() -> None:
    assert not is_name("a.b", NameRule.LABEL)
    assert not is_name("a" * 64, NameRule.LABEL)
    assert is_name("system:controller:x", NameRule.SEGMENT)
    assert not is_name("..", NameRule.SEGMENT)


@pytest.mark.parametrize("segment", TRAVERSALS, ids=ascii)
def test_no_path_is_made_of_a_segment_that_leaves_its_level(segment: str) -> None:
    with pytest.raises(InvalidName):
        api_path("/api/v1", "namespaces", segment)


def test_segments_are_quoted() -> None:
    assert api_path("/api/v1", "pods", "a?b#c%2fd e\nf") == "/api/v1/pods/a%3Fb%23c%252fd%20e%0Af"


def test_a_message_shows_no_control_characters_and_is_short() -> None:
    with pytest.raises(InvalidName) as refused:
        check_name("\x1b[31m" + "x" * 100_000)
    assert "\x1b" not in str(refused.value)
    assert len(str(refused.value)) < 300
