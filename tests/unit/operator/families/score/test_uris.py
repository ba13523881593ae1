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
    "https://app.example.com./",
]
INVALID = {
    "": "no scheme",
    "app.example.com": "no scheme",
    "//app.example.com": "no scheme",
    "app.example.com:8080": "names no host",
    "localhost:8080/path": "names no host",
    "urn:isbn:0451450523": "names no host",
    "unix:/run/app.sock": "names no host",
    "file:///etc/hosts": "file is no scheme",
    "javascript:alert(1)": "javascript is no scheme",
    "JavaScript://a.example.com/%0aalert(1)": "javascript is no scheme",
    "data:text/html,x": "data is no scheme",
    "http://a..b": "'a..b' is no host name",
    "http://-a": "no host name",
    "http://*.example.com": "a pattern",
    "http://10.0.0.256": "no IPv4",
    "http://%61": "no host name",
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
    "x:": "names no host",
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
