"""`extAuth`: a server decides on every request."""

from __future__ import annotations

from seamark.api.trafficfilters import ExtAuth
from seamark.families.gateway.rules.features.extensions import auth_service, body, service
from seamark.families.gateway.rules.features.references import References
from seamark.families.gateway.values import limits
from seamark_edge.dataplane import filters

MOST_CONTEXT = 64


def read(field: str, given: ExtAuth, references: References) -> filters.ExtAuth:
    context = given.context_extensions or {}
    limits.at_most(f"{field}.contextExtensions", context, MOST_CONTEXT)
    for number, (name, value) in enumerate(context.items()):
        limits.header_value(f"{field}.contextExtensions: key {number}", name)
        limits.header_value(f"{field}.contextExtensions: value {number}", value)
    return filters.ExtAuth(
        service(field, given.extension_ref, references, "extAuth", lambda spec: spec.ext_auth, auth_service),
        tuple(sorted(context.items())),
        body(f"{field}.withRequestBody", given.with_request_body),
    )
