"""What counts as a URI (docs/spec/score/workload.md, rule 6)."""

from __future__ import annotations

import pytest

from seamark.families.score.platform.policy import EndpointPolicy, template_fault
from seamark.families.score.platform.uris import fault

VALID = [
    "https://app.example.com",
    "http://10.0.0.1:8080/path?query=1#part",
    "http://[2001:db8::1]:80/",
    "grpc://app:50051",
    "tcp://db.internal:5432",
    "postgres://user@db:5432/name",
    "HTTP://EXAMPLE.COM",
    "https://example.com/%E2%82%AC",
    "urn:isbn:0451450523",
    "unix:/run/app.sock",
    "file:///etc/hosts",
]
INVALID = {
    "": "no scheme",
    "app.example.com": "no scheme",
    "//app.example.com": "no scheme",
    "http://": "names no host",
    "http:app": "names no host",
    "http:///path": "names no host",
    "http://a b": "no host",
    "http://a/b c": "character",
    "http://a/%zz": "character",
    "http://a/<script>": "character",
    "http://a:0": "no port",
    "http://a:99999": "no port",
    "http://a:b": "no host with a port",
    "http://[::g]": "no host",
    "http://[1.2.3.4]": "no IPv6",
    "https://user:secret@a": "password",
    "1http://a": "character",
    "http://a\n": "no host",
    "http://ä": "no host",
    "http://a/ä": "character",
    "https:": "names no host",
    "x:": "names nothing",
    "http://" + "a" * 2048: "characters",
}


@pytest.mark.parametrize("uri", VALID)
def test_this_is_a_uri(uri: str) -> None:
    assert fault(uri) == ""


@pytest.mark.parametrize(("uri", "message"), INVALID.items())
def test_this_is_none(uri: str, message: str) -> None:
    assert message in fault(uri)


def test_a_password_is_not_repeated_in_the_message() -> None:
    assert "secret" not in fault("https://user:secret@a")
    assert "secret" not in fault("https://user:secret@a:b")


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("https://{{.workload.name}}.{{ .workload.namespace }}.example.com", ""),
        ("https://{{.workload.labels}}.example.com", "names nothing"),
        ("https://{{ printf `x` }}.example.com", "names nothing"),
        ("{{.workload.name}}", "no scheme"),
    ],
)
def test_a_template_holds_names_and_nothing_that_runs(template: str, message: str) -> None:
    assert message in template_fault(template)
    assert bool(template_fault(template)) == bool(message)


def test_without_a_policy_there_is_none() -> None:
    assert EndpointPolicy() == EndpointPolicy(scopes=(), template="")
