"""DirectResponses that rules of routes name as an extension."""

from __future__ import annotations

import msgspec

from seamark.api.directresponses import DirectResponse, served
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported
from seamark_edge.dataplane import model
from seamark_runtime.api.meta import Key
from seamark_runtime.view import View

MOST_BODY = 4096  # bytes


def direct_response(view: View, key: Key) -> model.Respond:
    """The response, or `Unsupported` with why it can't be given."""
    found = view.intent(DirectResponse, key)
    if found is None or found.deleting:
        raise Unsupported(f"DirectResponse {key.name} does not exist")
    try:
        spec = served(found.spec or {})
        if len(spec.body.encode(errors="replace")) > MOST_BODY:
            raise Unsupported(f"body: must have at most {MOST_BODY} bytes")
        return model.Respond(limits.integer("status", spec.status, 200, 599), spec.body)
    except (msgspec.ValidationError, Unsupported) as error:
        raise Unsupported(f"DirectResponse {key.name} can't be used: {error}") from None
