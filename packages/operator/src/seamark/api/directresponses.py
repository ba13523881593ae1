"""gateway.kgateway.dev: DirectResponse, a response that a rule of a route gives itself.

It is read as it stands, so that what is not served can be named.
"""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from seamark.api.strict import Strict
from seamark_runtime.api.meta import Object, Resource

GROUP = "gateway.kgateway.dev"


class DirectResponse(Object, frozen=True, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1alpha1", "DirectResponse", "directresponses")

    spec: dict[str, Any] | None = None


class DirectResponseSpec(Strict, frozen=True, kw_only=True):
    """A status, and a text."""

    status: int
    body: str = ""


def served(spec: dict[str, Any]) -> DirectResponseSpec:
    """The response, or a `msgspec.ValidationError` that names the first field which is not served."""
    return msgspec.convert(spec, DirectResponseSpec)
