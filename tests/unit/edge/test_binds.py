"""What agents ask for, whatever it is: an endpoint or a refusal, and never an unreachable place."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_edge.edge.binds import UNSUPPORTED, Wanted, answer_of, entry_of, labelled_url, policy_of, read_bind
from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.policy_document import parse_policy
from seamark_edge.edge.urls import EndpointUrl
from seamark_edge.wire.tunnel import Bind, BindExtra, decode, encode

HOSTS = ["x.internal", "x.internal.evil.example", "x.internals", "internal", ".internal", "a.edge.localhost", "svc.ns"]
plain: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
urls = st.builds(
    "{}://{}{}".format,
    st.sampled_from(["tcp", "tls", "http", "https", "ftp", ""]),
    st.sampled_from(HOSTS) | st.text(max_size=20),
    st.sampled_from(["", ":0", ":1", ":443", ":99999", ":x"]),
)
OPTIONS = ["URL", "Addr", "Domain", "Hostname", "Subdomain", "TrafficPolicy", "Policy", "IPRestriction", "ProxyProto"]
options = st.dictionaries(st.sampled_from([*OPTIONS, "TLSTermination", *UNSUPPORTED[:2]]), urls | plain, max_size=5)
extras = st.builds(
    BindExtra,
    name=st.text(max_size=5),
    bindings=st.none() | st.lists(st.sampled_from(["public", "internal", "kubernetes", "x"]), max_size=2).map(tuple),
)
protocols = st.sampled_from(["tcp", "tls", "http", "https", "udp", ""])


def bound(message: Bind) -> Wanted:
    return read_bind(message, parse_policy(policy_of(message)), "edge.localhost", lambda _: 8443)


def read(proto: str, **opts: Any) -> Wanted:
    return bound(Bind(proto=proto, opts=opts))


@given(protocols, options, extras)
def test_any_request_is_understood_or_refused(proto: str, opts: dict[str, Any], extra: BindExtra) -> None:
    message = decode(encode(Bind(proto=proto, opts=opts, extra=extra)), Bind)
    with suppress(Refusal):
        wanted = bound(message)
        assert wanted.url is None or 0 < wanted.url.port < 65536
        agent: Any = None
        entry = entry_of(agent, "cr_1", message, wanted, wanted.url or EndpointUrl("tcp", "a", 1))
        assert encode(answer_of(entry, message))


@pytest.mark.parametrize("scheme", ["http", "https", "tls"])
@pytest.mark.parametrize("host", ["x.internal.evil.example", "x.internals", "a.internal.edge.localhost"])
def test_a_host_that_only_looks_internal_has_the_public_port(scheme: str, host: str) -> None:
    for opts in ({"URL": f"{scheme}://{host}"}, {"Domain": host}, {"Hostname": host}):
        url = read(scheme, **opts).url
        assert url is not None
        assert url.port == 8443


def test_an_internal_endpoint_has_the_port_of_its_url_or_of_its_scheme() -> None:
    ports = {text: read("https", URL=text).url for text in ("https://x.internal", "https://x.internal:8080")}
    assert [url.port for url in ports.values() if url] == [443, 8080]


@pytest.mark.parametrize("url", ["tcp://x.internal:0", "tcp://x.internal", "tcp://127.0.0.1:0"])
def test_the_port_zero_is_refused(url: str) -> None:
    with pytest.raises(Refusal, match="needs a port from 1 to 65535"):
        read("tcp", URL=url)


@pytest.mark.parametrize("value", [[], {}, [1], {"a": 1}, 1.0, True, 3, "3", 10**400, "x" * 100_000])
def test_a_version_of_the_proxy_protocol_that_is_none(value: Any) -> None:
    if not value:
        assert read("tcp", ProxyProto=value).proxy_version == 0
        return
    with pytest.raises(Refusal, match="PROXY protocol") as caught:
        read("tcp", ProxyProto=value)
    assert len(caught.value.message) < 200


@pytest.mark.parametrize("value", [1, "10.0.0.0/8", {"a": "b"}, ["10.0.0.0/8"] * 1000, [[]], [None], [10**400]])
def test_source_ranges_that_are_none(value: Any) -> None:
    with pytest.raises(Refusal):
        read("tcp", IPRestriction={"AllowCIDRs": value})


@given(st.dictionaries(st.text(max_size=70), st.text(max_size=70), max_size=5))
def test_any_labels_are_a_place_or_refused(labels: dict[str, str]) -> None:
    with suppress(Refusal):
        assert labelled_url(labels).internal
