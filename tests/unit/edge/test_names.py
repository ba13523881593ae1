"""Public host names: one owner for all schemes, exact names before wildcards (docs/spec/loadbalancer/places.md)."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.listeners import host_of
from seamark_edge.edge.registry import Entry, Registry
from seamark_edge.edge.urls import NAMED, SHARED_PORT, parse_url, reservable


def entry(url: str, credential: str, binding: str = "public", **fields: Any) -> Entry:
    parsed = parse_url(url)
    return Entry(
        id=f"{binding}-{parsed.key}-{credential}",
        url=parsed,
        binding=binding,
        created="",
        credential=credential,
        **fields,
    )


def route(registry: Registry, host: str) -> str:
    group = registry.find_host(SHARED_PORT, host, 443)
    return group.entries[0].id if group else ""


@pytest.mark.parametrize(("first", "second"), list(permutations(NAMED, 2)))
@pytest.mark.parametrize("host", ["shop.edge.localhost", "*.edge.localhost"])
@pytest.mark.parametrize("pooling", [False, True])
def test_a_name_that_another_owner_has_in_another_scheme_is_taken(
    first: str, second: str, host: str, pooling: bool
) -> None:
    registry = Registry()
    held = entry(f"{first}://{host}", "cr_a", pooling=pooling)
    registry.add(held)
    with pytest.raises(Refusal, match="already online: its address is in use by another agent") as refusal:
        registry.add(entry(f"{second}://{host}", "cr_b", pooling=pooling))
    assert (refusal.value.code, "pooling" in refusal.value.message) == (334, False)
    registry.add(entry(f"{second}://{host}", "cr_a", pooling=pooling))  # the owner decides about its own name
    registry.remove(held)


def test_internal_names_are_told_apart_by_scheme() -> None:
    registry = Registry()
    registry.add(entry("https://db.internal", "cr_a", "internal"))
    registry.add(entry("tls://db.internal", "cr_b", "internal"))
    registry.add(entry("http://db.internal", "cr_b", "internal"))


@pytest.mark.parametrize(("held", "wildcard"), list(permutations(NAMED, 2)))
@pytest.mark.parametrize("owner", ["cr_a", "cr_b", ""])
def test_a_wildcard_receives_nothing_for_a_host_that_is_held_in_any_scheme(
    held: str, wildcard: str, owner: str
) -> None:
    registry = Registry()
    wide, narrow = entry(f"{wildcard}://*.edge.localhost", "cr_b"), entry(f"{held}://shop.edge.localhost", owner)
    registry.add(wide)
    registry.add(narrow)
    port = wide.url.port
    assert registry.find_host((wildcard,), "shop.edge.localhost", port) is None
    assert registry.find_host((wildcard,), "other.edge.localhost", port) is not None
    registry.remove(narrow)
    assert registry.find_host((wildcard,), "shop.edge.localhost", port) is not None


def test_a_name_has_no_owner_once_all_its_schemes_are_offline() -> None:
    registry = Registry()
    held = [entry(f"{scheme}://shop.edge.localhost", "cr_a") for scheme in NAMED]
    for endpoint in held:
        registry.add(endpoint)
    for endpoint in held:
        with pytest.raises(Refusal):
            registry.add(entry("http://shop.edge.localhost", "cr_b"))
        registry.remove(endpoint)
    registry.add(entry("http://shop.edge.localhost", "cr_b"))


@pytest.mark.parametrize(("exact", "wildcard"), [("https", "tls"), ("tls", "https"), ("https", "https")])
def test_an_exact_name_wins_over_a_wildcard_of_any_scheme(exact: str, wildcard: str) -> None:
    registry = Registry()
    wide = entry(f"{wildcard}://*.edge.localhost", "cr_b")
    registry.add(wide)
    narrow = entry(f"{exact}://shop.edge.localhost", "cr_a")
    registry.add(narrow)
    assert route(registry, "shop.edge.localhost") == narrow.id
    assert route(registry, "other.edge.localhost") == wide.id
    assert route(registry, "edge.localhost") == ""


@pytest.mark.parametrize(("host", "binding"), [("db.internal", "internal"), ("db.prod", "kubernetes")])
def test_clients_of_the_public_port_reach_public_endpoints_only(host: str, binding: str) -> None:
    registry = Registry()
    registry.add(entry(f"https://{host}", "cr_a", binding))
    assert route(registry, host) == ""


def test_a_kubernetes_binding_takes_no_public_place_away() -> None:
    """A Service and its namespace can be spelled like a public host of two labels."""
    registry = Registry()
    bound, public = entry("https://shop.example", "cr_a", "kubernetes"), entry("https://shop.example", "cr_b")
    registry.add(bound)
    registry.add(public)
    assert route(registry, "shop.example") == public.id
    registry.remove(bound)
    assert route(registry, "shop.example") == public.id


def test_pooling_is_advised_where_it_would_help() -> None:
    registry = Registry()
    registry.add(entry("https://edge.localhost", "cr_a", pooling=True))
    with pytest.raises(Refusal, match=r"already online: .* enable pooling on both"):
        registry.add(entry("https://edge.localhost", "cr_a"))


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nHost : evil.edge.localhost\r\nHost: shop.edge.localhost",
        b"GET / HTTP/1.1\r\nHost : shop.edge.localhost",
        b"GET / HTTP/1.1\r\nHost: shop.edge.localhost\r\nHost: evil.edge.localhost",
        b"GET / HTTP/1.1\r\nX: y\r\n Host: shop.edge.localhost",
        b"GET / HTTP/1.1\r\nHost: shop.edge.localhost\r\n\tfolded: x",
        b"GET / HTTP/1.1\r\nAccept: x",
    ],
)
def test_a_request_whose_host_can_be_read_in_two_ways_is_refused(head: bytes) -> None:
    with pytest.raises(Refusal) as refusal:
        host_of(head)
    assert refusal.value.status == 400


def test_the_host_of_a_request_is_read_without_its_port() -> None:
    assert host_of(b"GET / HTTP/1.1\r\nAccept: *\r\nhOST:  Shop.edge.localhost:8080") == "shop.edge.localhost"


@pytest.mark.parametrize(
    ("target", "host"),
    [
        (b"http://Shop.edge.localhost:8080/x?http://c/", "shop.edge.localhost"),
        (b"HTTPS://shop.edge.localhost", "shop.edge.localhost"),
        (b"http://shop.edge.localhost?x", "shop.edge.localhost"),
        (b"/http://shop.edge.localhost/", "other.edge.localhost"),
        (b"*", "other.edge.localhost"),
    ],
)
def test_a_target_in_absolute_form_replaces_the_host_field(target: bytes, host: str) -> None:
    """RFC 9112, section 3.2.2."""
    assert host_of(b"GET " + target + b" HTTP/1.1\r\nHost: other.edge.localhost") == host


@pytest.mark.parametrize("target", [b"http:///x", b"http://a@shop.edge.localhost/"])
def test_a_target_in_absolute_form_without_a_clear_host_is_refused(target: bytes) -> None:
    with pytest.raises(Refusal):
        host_of(b"GET " + target + b" HTTP/1.1\r\nHost: shop.edge.localhost")


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("192.0.2.1", "is an address"),
        ("2001:db8::1", "is an address"),
        ("1.2.3", "is an address"),
        ("x.internal", "have no public port"),
        ("*.internal", "have no public port"),
        ("internal", "have no public port"),
        ("com", "needs a dot"),
        ("*.com", "needs a dot"),
        ("localhost", "needs a dot"),
    ],
)
def test_a_name_that_can_never_be_served_is_not_reserved(host: str, reason: str) -> None:
    """Places rule 14."""
    with pytest.raises(Refusal, match=reason) as refusal:
        reservable(host)
    assert refusal.value.status == 400


@pytest.mark.parametrize("host", ["shop.example.com", "*.shop.example.com", "a.edge.localhost", "x.internal.example"])
def test_other_names_are_reserved(host: str) -> None:
    assert reservable(host) == host
