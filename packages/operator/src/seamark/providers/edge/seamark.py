"""Seamark's own edge as a provider."""

from __future__ import annotations

import ssl
from dataclasses import replace

from seamark.providers.edge.objectcache import Freshness
from seamark.providers.edge.policies import PolicyChecks, policy_refusal
from seamark.providers.edge.ratelimiter import RateLimiter
from seamark.providers.edge.remote import RemoteEdge
from seamark.providers.edge.rest import HttpClient, RestCalls
from seamark_edge.model import Capabilities

CAPABILITIES = Capabilities(
    name="seamark",
    requests_per_minute=1200,
    bindings=True,
    own_agent=True,
    custom_ca=True,
    upstream_checks=True,
    policy_refusal=policy_refusal,
)


def seamark_edge(
    base_url: str, key: str, ca: str = "", freshness: Freshness | None = None, requests_per_minute: int = 0
) -> RemoteEdge:
    """The edge at this API address; `ca` is the file of its CA where the API is served with TLS.

    `requests_per_minute` is for an edge that was set up to take more than the usual.
    """
    context = ssl.create_default_context(cafile=ca) if ca else None
    checks = PolicyChecks()
    capabilities = replace(
        CAPABILITIES,
        requests_per_minute=requests_per_minute or CAPABILITIES.requests_per_minute,
        policy_refusal=checks.refusal,
        policy_check=checks.check,
    )
    calls = RestCalls(
        HttpClient(base_url, key, context, names_owners=True), RateLimiter(capabilities.requests_per_minute)
    )
    return RemoteEdge(calls, capabilities, freshness)
