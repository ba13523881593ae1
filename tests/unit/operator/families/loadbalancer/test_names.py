"""Names that follow from what they are for."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from seamark.families.loadbalancer.model.names import annotation, child_name, domain_name
from seamark_runtime.api.core import Service

LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
HOSTS = st.lists(LABELS, min_size=2, max_size=4).map(".".join)


def service(**metadata: object) -> Service:
    return msgspec.convert({"metadata": {"name": "web", "uid": "uid-1", **metadata}}, Service)


def test_hosts_that_look_alike_are_told_apart() -> None:
    assert domain_name("a.b.com") == "a-b-com"
    names = {domain_name(host) for host in ("a.b.com", "a-b.com", "a.b-com", "*.b.com", "wildcard.b.com")}
    assert len(names) == 5


@given(HOSTS, HOSTS)
def test_two_hosts_never_share_a_name(one: str, other: str) -> None:
    assert (domain_name(one) == domain_name(other)) == (one == other)


def test_a_namesake_has_children_of_its_own() -> None:
    assert child_name(service(), "agent/") == child_name(service(), "agent/")
    assert child_name(service(), "agent/") != child_name(service(uid="uid-2"), "agent/")
    assert len(child_name(service(name="x" * 253), "agent/")) <= 253


def test_both_prefixes_are_read_and_the_first_wins() -> None:
    assert annotation(service(annotations={"ngrok.com/url": "tcp://"}), "url") == "tcp://"
    both = {"ngrok.com/url": "tcp://", "k8s.ngrok.com/url": "tls://a.b"}
    assert annotation(service(annotations=both), "url") == "tls://a.b"
