"""User and password."""

from __future__ import annotations

from envoy.extensions.filters.http.basic_auth.v3 import basic_auth_pb2

from seamark_edge.dataplane.filters import BasicAuth

NAME = "envoy.filters.http.basic_auth"


def idle() -> basic_auth_pb2.BasicAuth:
    """Without any user: if it were enabled so, it would let no request in."""
    made = basic_auth_pb2.BasicAuth()
    made.users.inline_string = "\n"
    return made


def on_route(setting: BasicAuth) -> basic_auth_pb2.BasicAuthPerRoute:
    made = basic_auth_pb2.BasicAuthPerRoute()
    made.users.inline_string = "".join(f"{user}:{{SHA}}{password}\n" for user, password in setting.users)
    return made
