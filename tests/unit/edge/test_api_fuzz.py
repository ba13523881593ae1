"""The API's parsers, fed with anything: an object or a refusal, never a surprise."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seamark_edge.edge.errors import Refusal
from seamark_edge.edge.settings import EdgeSettings
from seamark_edge.process.server import Edge
from seamark_edge.rest.app import RESOURCES
from seamark_edge.rest.base import Resource
from seamark_runtime.errors import Exists

FIELDS = [
    "description",
    "metadata",
    "url",
    "type",
    "traffic_policy",
    "bindings",
    "pooling_enabled",
    "domain",
    "certificate_id",
    "certificate_pem",
    "private_key_pem",
    "cidr",
    "action",
    "ip_policy_id",
    "binding",
    "deployment",
    "enabled_features",
    "acl",
    "max_sessions",
    "rights",
    "resolves_to",
]
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=30)
    | st.sampled_from(["cloud", "tls://a.edge.localhost", "tcp://a.internal:1", "allow", "10.0.0.0/8", "bind:*", "{}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=5), inner),
    max_leaves=8,
)
bodies = st.dictionaries(st.sampled_from(FIELDS), values, max_size=6)


@pytest.fixture(scope="module")
def edge(tmp_path_factory: pytest.TempPathFactory) -> Edge:
    # Nothing is started: no port is bound, the parsers and the state are enough.
    state = tmp_path_factory.mktemp("state") / "edge.db"
    return Edge(EdgeSettings(state=str(state), http_port=1, tls_port=1, tcp_ports="1-1"))


@pytest.mark.parametrize("kind", [kind for kind in RESOURCES if kind.creates], ids=lambda kind: kind.path.strip("/"))
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=bodies, change=bodies)
def test_any_body_makes_an_object_or_is_refused(
    edge: Edge, kind: type[Resource], body: dict[str, Any], change: dict[str, Any]
) -> None:
    resource = kind(edge.office)

    async def case() -> None:
        try:
            made = await resource.create(body)
        except (Refusal, Exists):
            return
        assert resource.view(made["id"])["id"] == made["id"]
        assert made["id"] in resource.ids()
        with suppress(Refusal, Exists):
            await resource.update(made["id"], change)
        await resource.delete(made["id"])
        with pytest.raises(Refusal):
            resource.view(made["id"])

    asyncio.run(case())
