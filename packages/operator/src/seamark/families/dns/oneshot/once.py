"""One sync: until every DNSEndpoint has its result."""

from __future__ import annotations

import asyncio

from seamark.api.dns import DNSEndpoint
from seamark.families.dns.dnsendpoint.state import READY
from seamark_runtime.conditions import TRUE, UNKNOWN
from seamark_runtime.operator import Operator

LOOK = 0.1
SETTLED = 2.0  # seconds without work that count as an end


async def until_reported(operator: Operator, seconds: float) -> list[str]:
    """Waits, at most so long, until the status of every object is known; then names those that are not served.

    A refusal is a result. What is being deleted has to be gone.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    informer = operator.informers.get(DNSEndpoint)
    if informer is None:
        return await _without_status(operator, deadline)
    while not (operator.quiet and informer.synced and all(map(_has_result, informer.cache))):
        if asyncio.get_running_loop().time() > deadline:
            break
        await asyncio.sleep(LOOK)
    ready = {endpoint.key: _ready(endpoint) for endpoint in informer.cache}
    return [f"{key}: {message}" for key, (status, message) in sorted(ready.items()) if status != TRUE]


async def _without_status(operator: Operator, deadline: float) -> list[str]:
    """Without the crd source there is no status: it is done when there was nothing to do for a while."""
    loop = asyncio.get_running_loop()
    since = None
    while since is None or loop.time() < since + SETTLED:
        if loop.time() > deadline:
            return ["it was not done in time"]
        await asyncio.sleep(LOOK)
        since = (since or loop.time()) if operator.quiet else None
    return []


def _has_result(endpoint: DNSEndpoint) -> bool:
    return not endpoint.deleting and _ready(endpoint)[0] != UNKNOWN


def _ready(endpoint: DNSEndpoint) -> tuple[str, str]:
    """Status and message of Ready for the present generation; Unknown if it is about another."""
    for condition in endpoint.status.conditions if endpoint.status else ():
        if condition.type == READY.name and condition.observed_generation == endpoint.metadata.generation:
            return condition.status, condition.message
    return UNKNOWN, "it has no answer yet"
