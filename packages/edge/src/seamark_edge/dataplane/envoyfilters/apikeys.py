"""Keys of clients."""

from __future__ import annotations

from envoy.extensions.filters.http.api_key_auth.v3 import api_key_auth_pb2

from seamark_edge.dataplane.filters import ApiKeys

NAME = "envoy.filters.http.api_key_auth"


def idle() -> api_key_auth_pb2.ApiKeyAuth:
    return api_key_auth_pb2.ApiKeyAuth()


def on_route(setting: ApiKeys) -> api_key_auth_pb2.ApiKeyAuthPerRoute:
    made = api_key_auth_pb2.ApiKeyAuthPerRoute()
    for client, key in setting.clients:
        made.credentials.add(client=client, key=key)
    for place, name in setting.sources:
        made.key_sources.add(**{place: name})
    made.forwarding.hide_credentials = not setting.forward
    made.forwarding.header = setting.client_header
    return made
