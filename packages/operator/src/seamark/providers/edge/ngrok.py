"""ngrok's cloud as a provider: the same calls, a smaller budget, and tunnels held by the vendor's SDK.

The cloud's makers support no other agent there, so tunnels are held by the official `ngrok` package, an optional
extra. What is here was tried against Seamark's own edge, through the official SDKs and REST client; not against the
cloud itself.
"""

from __future__ import annotations

from seamark.providers.edge.objectcache import Freshness
from seamark.providers.edge.ratelimiter import RateLimiter
from seamark.providers.edge.remote import RemoteEdge
from seamark.providers.edge.rest import HttpClient, RestCalls
from seamark_edge.model import Capabilities

API = "https://api.ngrok.com"
# The service allows about 120 requests a minute to an account; others of the account want some of them.
CAPABILITIES = Capabilities(name="ngrok", requests_per_minute=100, bindings=True, own_agent=False, custom_ca=False)


def ngrok_cloud(key: str, base_url: str = API, freshness: Freshness | None = None) -> RemoteEdge:
    calls = RestCalls(HttpClient(base_url, key), RateLimiter(CAPABILITIES.requests_per_minute))
    return RemoteEdge(calls, CAPABILITIES, freshness)
