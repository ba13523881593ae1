"""Fields that are filters with values at the limits of what is taken: Envoy must take every one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]


def filter_edges() -> Iterator[Json]:
    for percentage in (0, 1, 100):
        yield {"csrf": {"percentageEnabled": percentage}}
        yield {"csrf": {"percentageShadowed": percentage}}
        yield {"faultInjection": {"abort": {"httpStatus": 200, "percentage": percentage}}}
        yield {"faultInjection": {"delay": {"fixedDelay": "1ms", "percentage": percentage}}}
        yield {"faultInjection": {"responseRateLimit": {"kbitsPerSecond": 1, "percentage": percentage}}}
    for rule in ({"exact": ""}, {"prefix": "x" * 1024}, {"suffix": "ü"}, {"contains": "%"}, {"safeRegex": r"\pL+"}):
        yield {"csrf": {"additionalOrigins": [rule] * 16}}
    for amount in (1, "1", "1Ki", 2**32 - 1, "4294967295"):
        yield {"buffer": {"maxRequestSize": amount}}
    for status in (0, 16):
        yield {"faultInjection": {"abort": {"grpcStatus": status}, "maxActiveFaults": 2**32 - 1}}
    yield {"faultInjection": {"delay": {"fixedDelay": "1h"}, "maxActiveFaults": 0, "abort": {"httpStatus": 599}}}
    yield {"faultInjection": {"responseRateLimit": {"kbitsPerSecond": 2**32 - 1}}}
