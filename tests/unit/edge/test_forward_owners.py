"""A policy forwards to internal endpoints of its own namespace, and to others by a grant alone."""

from __future__ import annotations

from typing import Any

import pytest

from seamark_edge.api.ngrok import AgentEndpoint, AgentEndpointSpec, CloudEndpoint, CloudEndpointSpec, Upstream
from seamark_edge.claims import Claim, Endpoint, Standing
from seamark_edge.forwards import forwarded_to, refusal
from seamark_runtime.api.meta import Key, ManagedMeta
from seamark_runtime.grants import Referrer

HELD = {
    "tcp://db.internal:5432": "team-b",
    "kubernetes tcp://web.internal:80": "internal",
    "tcp://own.internal:1": "team-a",
}
CLOUD = CloudEndpoint(
    metadata=ManagedMeta(name="a", namespace="team-a"), spec=CloudEndpointSpec(url="tcp://a.internal:1")
)
AGENT = AgentEndpoint(
    metadata=ManagedMeta(name="a", namespace="team-a"),
    spec=AgentEndpointSpec(url="tcp://a.internal:1", upstream=Upstream(url="tcp://web:80")),
)


def claim_at(where: str) -> Claim | None:
    namespace = HELD.get(where)
    return None if namespace is None else Claim(False, Standing.NAMED, "", namespace, "db")


def never(_referrer: Referrer, _kind: str, _key: Key) -> bool:
    return False


def own(referrer: Referrer, _kind: str, key: Key) -> bool:
    return key.namespace == referrer.namespace


def forwarding(url: Any, phase: str = "on_tcp_connect") -> dict[str, Any]:
    return {
        phase: [{"actions": [{"type": "deny"}]}, {"actions": [{"type": "forward-internal", "config": {"url": url}}]}]
    }


@pytest.mark.parametrize("endpoint", [CLOUD, AGENT], ids=["CloudEndpoint", "AgentEndpoint"])
@pytest.mark.parametrize(
    "url",
    [
        *("tcp://db.internal:5432", "TCP://DB.Internal.:05432", "tls://db.internal:5432", "https://db.internal:5432"),
        *("tcp://0123abcd.team-b.internal:80", "http://web.internal", "tcp://${req.host}.internal:5432"),
    ],
)
def test_a_forward_to_another_namespace_is_refused_in_any_spelling(endpoint: Endpoint, url: str) -> None:
    for phase in ("on_tcp_connect", "on_http_request"):
        message = refusal(endpoint, forwarding(url, phase), claim_at, own)
        assert "ReferenceGrant" in message
        assert "lb_cross_namespace_upstreams" in message
        assert "team-b" not in message.replace(url, "")


@pytest.mark.parametrize(
    "url", ["tcp://own.internal:1", "tcp://0123abcd.team-a.internal:80", "tcp://db.internal:1", "no url\n", 7, None]
)
def test_own_endpoints_and_what_has_no_owner_may_be_named(url: Any) -> None:
    assert refusal(CLOUD, forwarding(url), claim_at, own) == ""


def test_a_grant_there_allows_it() -> None:
    asked: list[tuple[Referrer, str, Key]] = []

    def granted(referrer: Referrer, kind: str, key: Key) -> bool:
        asked.append((referrer, kind, key))
        return kind == "CloudEndpoint"

    assert refusal(AGENT, forwarding("tcp://db.internal:5432"), claim_at, granted) == ""
    referrer = Referrer("ngrok.k8s.ngrok.com", "AgentEndpoint", "team-a")
    assert asked == [(referrer, kind, Key("team-b", "db")) for kind in ("AgentEndpoint", "CloudEndpoint")]


@pytest.mark.parametrize(
    "policy", [None, [], "text", {"on_tcp_connect": 7}, {"a": [7, {"actions": [None, {"type": 7}]}]}]
)
def test_a_policy_of_any_form_can_be_read(policy: Any) -> None:
    assert forwarded_to(policy) == ()
    assert refusal(CLOUD, policy, claim_at, never) == ""
