"""JSON Web Tokens. The claims of a valid one are metadata of the request: jwt_authn, payload."""

from __future__ import annotations

from envoy.extensions.filters.http.jwt_authn.v3 import config_pb2

from seamark_edge.dataplane.envoyfilters.messages import http_uri, seconds
from seamark_edge.dataplane.filters import Jwt, TokenProvider, TokenService

NAME = "envoy.filters.http.jwt_authn"
SERVICE = TokenService
REQUIREMENT, PAYLOAD = "policy", "payload"


def in_chain(service: TokenService) -> config_pb2.JwtAuthentication:
    made = config_pb2.JwtAuthentication()
    alternatives = made.requirement_map[REQUIREMENT].requires_any.requirements
    for given in service.providers:
        made.providers[given.name].CopyFrom(provider(given))
        alternatives.add(provider_name=given.name)
    if service.optional:
        alternatives.add().allow_missing.SetInParent()
    elif len(alternatives) == 1:  # of alternatives there are two at least
        made.requirement_map[REQUIREMENT].provider_name = service.providers[0].name
    return made


def on_route(_setting: Jwt) -> config_pb2.PerRouteConfig:
    return config_pb2.PerRouteConfig(requirement_name=REQUIREMENT)


def provider(given: TokenProvider) -> config_pb2.JwtProvider:
    made = config_pb2.JwtProvider(
        issuer=given.issuer, audiences=given.audiences, forward=given.forward, payload_in_metadata=PAYLOAD
    )
    if isinstance(given.keys, str):
        made.local_jwks.inline_string = given.keys
    else:
        made.remote_jwks.http_uri.CopyFrom(http_uri(given.keys.url, given.keys.remote))
        made.remote_jwks.cache_duration.CopyFrom(seconds(given.keys.lifetime))
        made.remote_jwks.async_fetch.fast_listener = True  # a server that hangs delays no listener
    if given.header is not None:
        made.from_headers.add(name=given.header[0], value_prefix=given.header[1])
    if given.parameter:
        made.from_params.append(given.parameter)
    for claim, header in given.claims:
        made.claim_to_headers.add(claim_name=claim, header_name=header)
    return made
