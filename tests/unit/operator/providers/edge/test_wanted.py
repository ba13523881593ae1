"""What an AgentEndpoint wants, from the objects that it names."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from seamark_edge.agent.keys import client_side, server_side
from seamark_edge.agent.model import Pair, Termination, Tunnel
from seamark_edge.agent.upstream import Upstream
from seamark_edge.agent.wanted import Objects, Unusable, tunnel_of
from seamark_edge.api.ngrok import AgentEndpoint, NgrokTrafficPolicy, NgrokTrafficPolicySpec
from seamark_edge.model import Owner
from seamark_runtime.api.core import Secret
from seamark_runtime.api.meta import Key, ObjectMeta
from seamark_runtime.errors import UserError
from tests.edge.tls import pair

POLICY = {"on_tcp_connect": [{"actions": [{"type": "deny"}]}]}
META = ObjectMeta(name="web", namespace="shop", uid="u1", generation=3)


def endpoint(**spec: Any) -> AgentEndpoint:
    said = {"url": "tls://web.example.com", "upstream": {"url": "tcp://web.shop:80"}, **spec}
    return msgspec.convert({"metadata": msgspec.to_builtins(META), "spec": said}, AgentEndpoint)


def objects(**secrets: dict[str, bytes]) -> Objects:
    policy = NgrokTrafficPolicy(spec=NgrokTrafficPolicySpec(policy=POLICY))
    held = {Key("shop", name): Secret(data=data) for name, data in secrets.items()}
    return Objects({Key("shop", "door"): policy}.get, held.get)


def test_everything_that_is_said_is_wanted() -> None:
    wanted = tunnel_of(
        endpoint(
            upstream={"url": "https://web.shop", "protocol": "http2", "proxyProtocolVersion": "2"},
            trafficPolicy={"inline": POLICY},
            description="words",
            metadata='{"owned-by":"me"}',
            bindings=["public"],
            clientCertificateRefs=[{"name": "mine"}],
            tlsTermination={
                "serverCertificateRef": {"name": "served"},
                "mutualTLS": {"clientCAsRef": {"name": "clients"}, "mode": "request"},
            },
        ),
        objects(
            mine={"tls.crt": b"c1", "tls.key": b"k1"},
            served={"tls.crt": b"c2", "tls.key": b"k2"},
            clients={"ca.crt": b"ca"},
        ),
        "cluster-uid",
    )
    assert wanted == Tunnel(
        "tls://web.example.com",
        "https://web.shop",
        pooling=True,
        metadata='{"owned-by":"me"}',
        description="words",
        bindings=("public",),
        policy=msgspec.json.encode(POLICY).decode(),
        proxy_version=2,
        protocol="http2",
        client_certificates=(Pair(b"c1", b"k1"),),
        termination=Termination(Pair(b"c2", b"k2"), b"ca", required=False),
        name=Owner("cluster-uid", "shop", "web", "u1").key,
        restricted=True,
        generation=3,
    )
    assert "k1" not in repr(wanted)
    assert "k2" not in repr(wanted)


def test_a_policy_comes_by_name() -> None:
    wanted = tunnel_of(endpoint(trafficPolicy={"targetRef": {"name": "door"}}), objects())
    assert msgspec.json.decode(wanted.policy) == POLICY


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"trafficPolicy": {"targetRef": {"name": "none"}}}, "NgrokTrafficPolicy none does not exist"),
        ({"clientCertificateRefs": [{"name": "none"}]}, "Secret none does not exist"),
        ({"clientCertificateRefs": [{"name": "half"}]}, "Secret half has no tls.key"),
        ({"tlsTermination": {"serverCertificateRef": {"name": "half"}}}, "has no tls.key"),
        (
            {"url": "tcp://", "tlsTermination": {"serverCertificateRef": {"name": "half"}}},
            "tlsTermination is for tls:// URLs",
        ),
    ],
)
def test_what_cant_be_is_told(spec: dict[str, Any], words: str) -> None:
    with pytest.raises(Unusable, match=words):
        tunnel_of(endpoint(**spec), objects(half={"tls.crt": b"c"}))


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("tcp://db:5432", ("db", 5432)),
        ("db.shop:5432", ("db.shop", 5432)),
        ("http://web.shop", ("web.shop", 80)),
        ("https://web.shop", ("web.shop", 443)),
        ("8080", ("localhost", 8080)),
    ],
)
def test_a_service_is_named_in_several_ways(url: str, place: tuple[str, int]) -> None:
    found = Upstream.of(Tunnel("tcp://", url))
    assert (found.host, found.port, found.context is not None) == (*place, url.startswith("https"))


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "needs a host and a port"),
        ("ftp://a:1", "'ftp' is no scheme of an upstream"),
        ("tcp://a", "needs a host and a port"),
        ("tcp://a:x", "needs a port from 1 to 65535"),
        ("tcp://:1", "needs a host and a port"),
        ("tcp://a:99999999", "needs a port from 1 to 65535"),
    ],
)
def test_the_error_of_an_unusable_upstream_names_what_is_wrong(url: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as refused:
        Upstream.of(Tunnel("tcp://", url))
    assert "write tcp://HOST:PORT" in str(refused.value)


def test_certificates_that_cant_be_used_are_told() -> None:
    one, two = Pair(*pair("one")), Pair(*pair("two"))
    assert client_side(Tunnel("tcp://", "tls://a:1", client_certificates=(one,)))
    with pytest.raises(UserError, match="one type of key"):
        client_side(Tunnel("tcp://", "tls://a:1", client_certificates=(one, two)))
    with pytest.raises(UserError, match="server certificate and its key"):
        server_side(Termination(Pair(one.certificate, two.key)))
    with pytest.raises(UserError, match="the clients' CAs"):
        server_side(Termination(one, b"no certificate"))


def test_the_error_of_a_certificate_names_the_secret_that_it_is_from() -> None:
    one = pair("one")
    with pytest.raises(UserError, match="server certificate and its key in the Secret mine can't be used"):
        server_side(Termination(Pair(one[0], b"no key", source="the Secret mine")))
    with pytest.raises(UserError, match="the clients' CAs in the Secret cas can't be read"):
        server_side(Termination(Pair(*one), b"no certificate", cas_source="the Secret cas"))
