"""The hosts of Domains and endpoints."""

from __future__ import annotations

from seamark.api.ngrokingress import Domain
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint
from seamark_edge.urls import readable


def host_of(domain: Domain) -> str:
    return domain.spec.domain.lower().rstrip(".")


def named_host(endpoint: AgentEndpoint | CloudEndpoint) -> str:
    """The host that this endpoint needs a Domain for; "" for none."""
    place = readable(endpoint.spec.url)
    if place is None or not place.named or (endpoint.spec.bindings or ("public",))[0] != "public":
        return ""
    return place.host
