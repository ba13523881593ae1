"""What an endpoint's URL means in a cluster."""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

import pytest

from seamark.families.bindings.model.entries import Listing
from seamark.families.bindings.model.targets import BadTarget, parse
from seamark.families.bindings.poll.reconcile import by_target
from seamark.families.bindings.projection.reconcile import summary
from seamark_edge.model import Bound


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("http://web.shop", "http://web.shop:80"),
        ("https://web.shop", "https://web.shop:443"),
        ("tls://web.shop", "tls://web.shop:443"),
        ("web.shop", "https://web.shop:443"),
        ("web.shop:8443", "https://web.shop:8443"),
        ("tcp://db.shop:5432", "tcp://db.shop:5432"),
        ("http://WEB.Shop:80", "http://web.shop:80"),
    ],
)
def test_a_missing_port_and_scheme_are_filled_in(url: str, canonical: str) -> None:
    target = parse(url)
    assert target.url == canonical
    assert target.name == f"ngrok-{uuid5(NAMESPACE_URL, canonical)}"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("tcp://db.shop", "needs a port"),
        ("http://web", "is no service.namespace"),
        ("http://a.b.c", "is no service.namespace"),
        ("http://-a.b", "is no host name"),
        ("http://a_b.c", "is no service.namespace"),
        ("http://1.2", "is no service.namespace"),
        (f"http://{'x' * 64}.b", "is no host name"),
        ("ftp://a.b", "is no scheme of an endpoint"),
        ("http://a.b:99999", "needs a port from 1 to 65535"),
        ("http://a.b:0", "needs a port"),
        ("http://[::1", "is no URL"),
    ],
)
def test_what_names_no_target_is_told(url: str, words: str) -> None:
    with pytest.raises(BadTarget, match=words):
        parse(url)


def test_endpoints_of_one_target_are_one_and_a_bad_one_touches_only_itself() -> None:
    listing = Listing(
        (
            Bound("ep_3", "http://web.shop", "http", "/endpoints/ep_3"),
            Bound("ep_1", "http://web.shop:80", "http"),
            Bound("ep_2", "http://nonsense", "http"),
            Bound("ep_4", "tcp://web.shop:80", "tcp"),
        )
    )
    targets = by_target(listing)
    assert {target.url: [endpoint.id for endpoint in endpoints] for target, endpoints in targets.endpoints.items()} == {
        "http://web.shop:80": ["ep_1", "ep_3"],
        "tcp://web.shop:80": ["ep_4"],
    }
    assert targets.problems == ("endpoint ep_2 is left out: 'http://nonsense' is no service.namespace",)


def test_the_summary_counts_as_people_do() -> None:
    assert [summary(count) for count in (0, 1, 2)] == ["0 endpoints", "1 endpoint", "2 endpoints"]
