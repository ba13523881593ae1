"""All fields of a TrafficPolicy that are a filter of the data plane each.

A module of this package has one function, `read(field, given, references)`: the field as a value for the data plane, or
`Unsupported` with the path of what can't be served. `disable` is the same for all: it switches the filter off.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from seamark.api.kgateway import TrafficPolicySpec
from seamark.families.gateway.rules.features import (
    acl,
    apikeys,
    basicauth,
    buffer,
    compression,
    csrf,
    extauth,
    extproc,
    fault,
    globallimit,
    jwtauth,
    rbac,
)
from seamark.families.gateway.rules.features.references import References
from seamark.families.gateway.values.limits import Unsupported
from seamark_edge.dataplane.filters import RouteFilter


class Feature(NamedTuple):
    field: str  # its name in a spec
    part: str  # its name among the parts of a policy, and in the typed spec
    read: Callable[[str, Any, References], RouteFilter]


FEATURES = (
    Feature("faultInjection", "fault_injection", fault.read),
    Feature("acl", "acl", acl.read),
    Feature("compression", "compression", compression.read),
    Feature("jwtAuth", "jwt_auth", jwtauth.read),
    Feature("basicAuth", "basic_auth", basicauth.read),
    Feature("apiKeyAuth", "api_key_auth", apikeys.read),
    Feature("extAuth", "ext_auth", extauth.read),
    Feature("rbac", "rbac", rbac.read),
    Feature("extProc", "ext_proc", extproc.read),
    Feature("csrf", "csrf", csrf.read),
    Feature("buffer", "buffer", buffer.read),
)
GLOBAL_LIMIT = "global_limit"
MERGED = frozenset(("acl",))  # a less specific policy adds to these; all others are taken whole
FILTER_PARTS = (*(feature.part for feature in FEATURES), GLOBAL_LIMIT)


def filter_parts(spec: TrafficPolicySpec, references: References) -> dict[str, RouteFilter | None]:
    """Those that the policy has; None where it switches one off."""
    found: dict[str, RouteFilter | None] = {}
    for field, part, read in FEATURES:
        given = getattr(spec, part)
        if given is not None:
            found[part] = None if switches_off(field, given) else read(field, given, references)
    if spec.rate_limit is not None:  # its two parts are one field: who sets one of them decides on both
        given = spec.rate_limit.global_
        found[GLOBAL_LIMIT] = globallimit.read("rateLimit.global", given, references) if given is not None else None
    return found


def switches_off(field: str, given: msgspec.Struct) -> bool:
    disable = getattr(given, "disable", None)
    if disable is None:
        return False
    if given != type(given)(disable=disable):
        raise Unsupported(f"{field}.disable: no other field can be beside it")
    return True
