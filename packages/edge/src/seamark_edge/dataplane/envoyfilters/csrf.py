"""Cross-site request forgery."""

from __future__ import annotations

from envoy.extensions.filters.http.csrf.v3 import csrf_pb2

from seamark_edge.dataplane.envoyfilters.messages import matcher, share
from seamark_edge.dataplane.filters import Csrf

NAME = "envoy.filters.http.csrf"


def idle() -> csrf_pb2.CsrfPolicy:
    return on_route(Csrf(0, 0))


def on_route(setting: Csrf) -> csrf_pb2.CsrfPolicy:
    return csrf_pb2.CsrfPolicy(
        filter_enabled=share(setting.enforced),
        shadow_enabled=share(setting.shadowed),
        additional_origins=map(matcher, setting.origins),
    )
