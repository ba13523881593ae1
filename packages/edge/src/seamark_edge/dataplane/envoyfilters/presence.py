"""Requests are refused where the filters that their route needs are missing.

A chain gets a filter for each service. After a change of that, connections that were open before are served by the
chain as it was, but with the routes as they are now, and Envoy ignores a route's configuration of a filter that its
chain does not have. So a chain marks its requests with its services, and a route that needs some of them has a guard
in every chain, which answers a request without these marks with 403.
"""

from __future__ import annotations

from collections.abc import Iterable

from envoy.config.rbac.v3 import rbac_pb2 as rules_pb2
from envoy.extensions.filters.http.rbac.v3 import rbac_pb2
from envoy.extensions.filters.http.set_metadata.v3 import set_metadata_pb2

MARKS, GUARD = "envoy.filters.http.set_metadata", "envoy.filters.http.rbac/services"
NAMESPACE = "seamark.services"


def marks(names: Iterable[str]) -> set_metadata_pb2.Config:
    """Of a chain that has these filters."""
    made = set_metadata_pb2.Config()
    made.metadata.add(metadata_namespace=NAMESPACE).value.update(dict.fromkeys(names, True))
    return made


def idle() -> rbac_pb2.RBAC:
    return rbac_pb2.RBAC()


def on_route(names: Iterable[str]) -> rbac_pb2.RBACPerRoute:
    """Of a route that needs these filters."""
    made = rbac_pb2.RBACPerRoute()
    made.rbac.rules.action = rules_pb2.RBAC.ALLOW
    policy = made.rbac.rules.policies["services"]
    policy.principals.add(any=True)
    needed = policy.permissions.add().and_rules
    for name in names:
        present = needed.rules.add().metadata
        present.filter = NAMESPACE
        present.path.add(key=name)
        present.value.bool_match = True
    return made
