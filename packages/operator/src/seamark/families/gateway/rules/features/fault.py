"""`faultInjection`: delays, aborts and slow responses, for a share of the requests."""

from __future__ import annotations

from seamark.api.trafficfilters import FaultInjection
from seamark.families.gateway.rules.features.references import References
from seamark.families.gateway.rules.features.values import percentage, required
from seamark.families.gateway.values import limits
from seamark.families.gateway.values.limits import Unsupported
from seamark_edge.dataplane import filters

LEAST_DELAY, MOST_DELAY = 0.001, 3600.0  # seconds
MOST_GRPC_STATUS = 16


def read(field: str, given: FaultInjection, _references: References) -> filters.Fault:
    if given.delay is None and given.abort is None and given.response_rate_limit is None:
        raise Unsupported(f"{field}: one of delay, abort and responseRateLimit is required")
    delay, abort, rate = given.delay, given.abort, given.response_rate_limit
    http, grpc = (abort.http_status, abort.grpc_status) if abort is not None else (None, None)
    if abort is not None and (http is None) == (grpc is None):
        raise Unsupported(f"{field}.abort: exactly one of httpStatus and grpcStatus is required")
    return filters.Fault(
        delay=_delay(f"{field}.delay.fixedDelay", delay.fixed_delay) if delay is not None else None,
        delayed=percentage(f"{field}.delay.percentage", delay.percentage) if delay is not None else 100,
        http_status=limits.integer(f"{field}.abort.httpStatus", http, 200, 599) if http is not None else None,
        grpc_status=limits.integer(f"{field}.abort.grpcStatus", grpc, 0, MOST_GRPC_STATUS)
        if grpc is not None
        else None,
        aborted=percentage(f"{field}.abort.percentage", abort.percentage) if abort is not None else 100,
        rate=_rate(f"{field}.responseRateLimit.kbitsPerSecond", rate.kbits_per_second) if rate is not None else None,
        limited=percentage(f"{field}.responseRateLimit.percentage", rate.percentage) if rate is not None else 100,
        most_active=_active(f"{field}.maxActiveFaults", given.max_active_faults),
    )


def _delay(field: str, text: str) -> float:
    found = required(field, limits.duration(field, text, least=LEAST_DELAY))
    if found > MOST_DELAY:
        raise Unsupported(f"{field} must be 1h or less")
    return found


def _rate(field: str, kbits: int) -> int:
    return limits.integer(field, kbits, 1, limits.MOST_COUNT)


def _active(field: str, count: int | None) -> int | None:
    return limits.integer(field, count, 0, limits.MOST_COUNT) if count is not None else None
