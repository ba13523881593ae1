"""Which Service a host names, in every spelling, and who may name it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_runtime.upstreams import (
    CROSSING,
    POD_CROSSING,
    PRIVATE,
    BadHost,
    Destination,
    UpstreamRules,
    destination,
    refusal,
)

VICTIM = "victim.other.svc.cluster.local"
OWN_MACHINE = (
    *("127.0.0.1", "127.0.0.1.", "127.1", "0x7f.1", "2130706433", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1"),
    *("64:ff9b::7f00:1", "2002:7f00:1::", "\u2460\u2461\u2466.0.0.1", "\uff11\uff12\uff17.0.0.1", "0x7f.\u2460"),
)
CLUSTER_ON_LOOPBACK = (
    *("127.96.0.10", "127.244.0.3", "127.6291466", "0x7f.0x60.0.10", "2136997898", "::ffff:127.96.0.10"),
    *("64:ff9b::7f60:a", "2002:7f60:a::", "\u2460\u2461\u2466.96.0.10"),
)


@pytest.mark.parametrize(
    "host",
    [
        "victim.other",
        "victim.other.svc",
        "victim.other.svc.cluster.local",
        "victim.other.svc.cluster.local.",
        "VICTIM.Other.SVC.Cluster.Local",
        "victim.other.svc.cluster.local\uff0e",
        "victim\u3002other",
        "\uff56ictim.other",
    ],
)
def test_a_service_of_another_namespace_is_recognised_in_every_spelling(host: str) -> None:
    assert destination(host, "mine") == Destination(VICTIM, "other", "victim")


@pytest.mark.parametrize("host", ["web", "web.mine", "web.mine.svc", "web.mine.svc.cluster.local.", "WEB"])
def test_a_service_of_the_own_namespace_is_allowed_and_looked_up_by_its_whole_name(host: str) -> None:
    found = destination(host, "mine")
    assert found == Destination("web.mine.svc.cluster.local", "mine", "web")
    assert refusal(found, "mine", UpstreamRules(), lambda *_: False) == ""


@pytest.mark.parametrize(
    ("host", "namespace"),
    [
        ("10-0-0-1.other.pod", "other"),
        ("10-0-0-1.other.pod.cluster.local.", "other"),
        ("pod-0.victim.other.svc", "other"),
        ("_http._tcp.victim.other.svc.cluster.local", "other"),
        ("odd.cluster.local", ""),
        ("node.cluster.local.", ""),
    ],
)
def test_pods_and_other_names_of_the_cluster_are_not_outside_of_it(host: str, namespace: str) -> None:
    found = destination(host, "mine")
    assert found.namespace == namespace
    assert refusal(found, "mine", UpstreamRules(), lambda *_: False) in (POD_CROSSING, CROSSING)


@pytest.mark.parametrize(
    "host", ["www.example.com", "example.com.", "victim.other.", "a.b.svc.evil.example", "x.svc.y"]
)
def test_a_host_outside_of_the_cluster_is_looked_up_as_it_is(host: str) -> None:
    found = destination(host, "mine")
    assert found == Destination(host.rstrip("."))
    assert refusal(found, "mine", UpstreamRules(), lambda *_: False) == ""


@pytest.mark.parametrize(
    "host",
    [
        "10.96.0.10",
        "10.96.0.10.",
        "0xa.0x60.0.0xa",
        "174063626",
        "012.0140.0.012",
        "::ffff:10.96.0.10",
        "64:ff9b::a60:a",
        "2002:a60:a::",
        "fd00::1",
        "192.168.1.1",
        "100.64.0.1",
    ],
)
def test_a_private_address_is_nobodys_to_name(host: str) -> None:
    found = destination(host, "mine")
    assert found.namespace is None
    assert refusal(found, "mine", UpstreamRules(), lambda *_: True) == PRIVATE
    assert refusal(found, "mine", UpstreamRules(cross_namespace=True), lambda *_: False) == ""


@pytest.mark.parametrize("host", ["93.184.215.14", "2606:4700::1111"])
def test_a_public_address_is_as_good_as_a_name(host: str) -> None:
    assert refusal(destination(host, "mine"), "mine", UpstreamRules(), lambda *_: False) == ""


def test_the_loopback_is_a_persons_own_and_no_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    for host in (*OWN_MACHINE, "localhost", "a.localhost"):
        assert refusal(destination(host, "mine"), "mine", UpstreamRules(), lambda *_: False) == "", host
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    for host in (*OWN_MACHINE, "localhost", "a.localhost"):
        assert refusal(destination(host, "mine"), "mine", UpstreamRules(), lambda *_: False) == PRIVATE, host


@pytest.mark.parametrize("host", CLUSTER_ON_LOOPBACK)
def test_services_of_a_cluster_on_the_loopback_are_named_and_not_addressed(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.96.0.1")
    assert refusal(destination(host, "mine"), "mine", UpstreamRules(), lambda *_: False) == PRIVATE
    assert refusal(destination(host, "mine"), "mine", UpstreamRules(cross_namespace=True), lambda *_: False) == ""
    assert refusal(destination("127.0.0.1", "mine"), "mine", UpstreamRules(), lambda *_: False) == ""


def test_a_grant_or_the_setting_lets_a_service_of_another_namespace_be_named() -> None:
    found = destination("victim.other", "mine")
    asked: list[tuple[str, str]] = []

    def granted(namespace: str, service: str) -> bool:
        asked.append((namespace, service))
        return True

    assert refusal(found, "mine", UpstreamRules(), granted) == ""
    assert asked == [("other", "victim")]
    assert refusal(found, "mine", UpstreamRules(), lambda *_: False) == CROSSING
    assert refusal(found, "mine", UpstreamRules(cross_namespace=True), lambda *_: False) == ""
    assert "other" not in CROSSING.replace("others", "").replace("another", "")


def test_the_clusters_own_domain_counts() -> None:
    rules = "svc.k8s.corp"
    assert destination("a.b", "mine", rules) == Destination("a.b.svc.k8s.corp", "b", "a")
    assert destination("a.mine.svc.k8s.corp", "mine", rules).namespace == "mine"
    assert destination("a.mine.svc.cluster.local", "mine", rules).namespace is None


@given(st.text(max_size=80))
def test_any_text_is_a_destination_or_no_host(text: str) -> None:
    try:
        found = destination(text, "mine")
    except BadHost:
        return
    assert found.host
    assert refusal(found, "mine", UpstreamRules(), lambda *_: False) in ("", CROSSING, POD_CROSSING, PRIVATE)
