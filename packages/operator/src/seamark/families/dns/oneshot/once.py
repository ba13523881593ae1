"""One sync: until every DNSEndpoint has its result, from what was done in this run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from seamark.api.dns import DNSEndpoint
from seamark.families.dns.dnsendpoint.reconcile import judge
from seamark.families.dns.dnsendpoint.state import READY, Seen
from seamark.families.dns.model.dependencies import Dependencies
from seamark.families.dns.model.entries import CRD, NO_NAME_SERVER, NOT_COMPARABLE, Ref, zone_named
from seamark.families.dns.model.indexes import hidden
from seamark_runtime.apply import Answers
from seamark_runtime.conditions import TRUE, UNKNOWN, Awaited
from seamark_runtime.operator import Operator
from seamark_runtime.source import Fresh

LOOK = 0.1
SETTLED = 2.0  # seconds without work that count as an end
FINAL = (NO_NAME_SERVER, NOT_COMPARABLE)  # Unknown for these reasons is a result: waiting does not change it


async def until_reported(operator: Operator, dependencies: Dependencies, seconds: float) -> list[str]:
    """Waits, at most so long, until the result of every object is known; then names those that are not served.

    - A result is what this run has found out: each zone was read, changed and asked. An earlier status is none.
    - A refusal is a result. What is being deleted has to be gone.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    informer = operator.informers.get(DNSEndpoint)
    since = None
    while True:
        now = asyncio.get_running_loop().time()
        done = operator.quiet and not any(unread(dependencies, now))
        if informer is not None:
            done = (
                done
                and informer.synced
                and all(result(dependencies, endpoint) is not None for endpoint in informer.cache)
            )
        since = (since or now) if done else None
        # Without the crd source there is no status: it is done when there was nothing to do for a while.
        if since is not None and (informer is not None or now >= since + SETTLED):
            break
        if now > deadline:
            return list(late(operator, dependencies, now, seconds))
        await asyncio.sleep(LOOK)
    results = {endpoint.key: result(dependencies, endpoint) for endpoint in informer.cache} if informer else {}
    return [f"{key}: {message}" for key, message in sorted(results.items()) if message]


def unread(dependencies: Dependencies, now: float) -> Iterator[str]:
    """The zones that were not read in this run, or not lately."""
    for zone in dependencies.options.rules.zones:
        if not isinstance(dependencies.responses.contents.get(zone, now), Fresh):
            yield zone


def late(operator: Operator, dependencies: Dependencies, now: float, seconds: float) -> Iterator[str]:
    """What was not done in time, and why as far as it is known."""
    for zone in unread(dependencies, now):
        yield f"the zone {zone or '.'} was not read within {seconds:g} s"
    informer = operator.informers.get(DNSEndpoint)
    if informer is None:
        yield f"the sync was not done within {seconds:g} s"
        return
    if not informer.synced:
        yield f"DNSEndpoints were not read within {seconds:g} s"
    for endpoint in informer.cache:
        found = result(dependencies, endpoint)
        if found is None:
            yield f"{endpoint.key}: not synced within {seconds:g} s: {judged(dependencies, endpoint)[1]}"
        elif found:
            yield f"{endpoint.key}: {found}"


def result(dependencies: Dependencies, endpoint: DNSEndpoint) -> str | None:
    """Why it is not served; empty if it is, None while this run does not know."""
    if hidden(endpoint, dependencies.options.rules):
        return ""  # it is not ours to sync
    status, message, final = judged(dependencies, endpoint)
    if endpoint.deleting or not final:
        return None
    return "" if status == TRUE else message


def judged(dependencies: Dependencies, endpoint: DNSEndpoint) -> tuple[str, str, bool]:
    """Status and message of Ready from the entries of this run, and whether that is a result."""
    meta, desired = endpoint.metadata, dependencies.specs.desired(endpoint)
    reports = {
        zone_named(key): report
        for key, report in dependencies.reports.entries(Ref.of(CRD, endpoint.key)).items()
        if (report.uid, report.generation, report.desired) == (meta.uid, meta.generation, desired)
    }
    seen = Seen(endpoint, desired, reports, dependencies.options.rules)
    ready = next(condition for condition in judge(seen, Answers({}, {})).conditions if condition.type == READY.name)
    final = not isinstance(ready, Awaited) and (ready.status != UNKNOWN or ready.reason in FINAL)
    return ready.status, ready.message, final
