"""`buffer`: requests are passed on whole, up to a size."""

from __future__ import annotations

from seamark.api.trafficfilters import Buffer
from seamark.families.gateway.rules.features.references import References
from seamark.families.gateway.rules.features.values import size
from seamark_edge.dataplane import filters


def read(field: str, given: Buffer, _references: References) -> filters.Buffer:
    return filters.Buffer(size(f"{field}.maxRequestSize", given.max_request_size))
