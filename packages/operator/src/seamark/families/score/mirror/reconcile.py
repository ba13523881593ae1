"""WorkloadExposure → the endpoint and RuntimeReady of its Workload. No client, no clock.

- The entries are sorted by priority, the first of equals first; only the top one is looked at: there is no fallback.
- What is no URI leaves the endpoint as it was. Nothing published, for this generation, is no endpoint.
"""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.score import Exposure
from seamark.families.score.mirror.answer import missing
from seamark.families.score.mirror.state import GOOD, TABLE, Mirrored, Seen
from seamark.families.score.model.conditions import RUNTIME_READY
from seamark.families.score.platform.uris import fault
from seamark_runtime.api.meta import Condition
from seamark_runtime.apply import Answers
from seamark_runtime.conditions import FALSE, TRUE
from seamark_runtime.controller import Wanted
from seamark_runtime.events import Notice


def desire(_seen: Seen) -> Wanted:
    return Wanted()


def judge(seen: Seen, _answers: Answers) -> Mirrored:
    if waiting := missing(seen.workload, seen.exposure):
        reason = "RuntimeSelecting" if seen.exposure is None else "RuntimeProvisioning"
        return Mirrored(endpoint=seen.endpoint, conditions=(RUNTIME_READY.unknown(reason, waiting),))
    published = shown(seen)
    return Mirrored(endpoint=published.endpoint, conditions=(runtime_ready(seen, published),))


@dataclass(frozen=True)
class Shown:
    """What is shown, of which entry, and what was wrong with it."""

    endpoint: str | None
    top: Exposure | None = None
    fault: str = ""


def shown(seen: Seen) -> Shown:
    top = top_exposure(seen)
    if top is None:
        return Shown(None)
    if wrong := fault(top.url):
        return Shown(seen.endpoint, top, wrong)
    metadata = seen.workload.metadata
    return Shown(seen.policy.endpoint(top, metadata.name, metadata.namespace), top)


def top_exposure(seen: Seen) -> Exposure | None:
    status = seen.exposure.status if seen.exposure else None
    entries = (status.exposures if status else None) or ()
    return max(entries, key=lambda entry: entry.priority, default=None)  # of equals the first


def runtime_ready(seen: Seen, published: Shown) -> Condition:
    conditions = seen.exposure.status.conditions if seen.exposure and seen.exposure.status else ()
    condition = normalised(conditions, published)
    if published.fault and condition.status == TRUE:
        return RUNTIME_READY.unknown("RuntimeProvisioning", f"The published URL is not valid: {published.fault}")
    return condition


def normalised(conditions: tuple[Condition, ...], published: Shown) -> Condition:
    """The runtime's own conditions by the table; without any that is known, what it published speaks for it."""
    if bad := sorted(filter(None, map(_bad, conditions)), key=lambda problem: list(TABLE).index(problem[0])):
        name, status, message = bad[0]
        make = RUNTIME_READY.false if status == FALSE else RUNTIME_READY.unknown
        return make(TABLE[name], message or name)
    if published.top is not None and published.top.reachable is False:
        return RUNTIME_READY.false("RuntimeDegraded", "The runtime says that the endpoint can't be reached")
    good = [condition for condition in conditions if condition.type in GOOD and condition.status == TRUE]
    if good:
        return RUNTIME_READY.true("Succeeded", good[0].message or "The runtime runs it")
    if conditions:
        names = ", ".join(sorted(condition.type for condition in conditions))
        message = f"The runtime has reported nothing about its health; its conditions are {names}"
        return RUNTIME_READY.unknown("RuntimeProvisioning", message)
    if published.top is not None:
        return RUNTIME_READY.true("Succeeded", "The runtime published an endpoint")
    return RUNTIME_READY.unknown("RuntimeProvisioning", "The runtime has published no endpoint")


def _bad(condition: Condition) -> tuple[str, str, str] | None:
    """(the type in the table, False or Unknown, the message) of a condition that reports a problem."""
    if condition.type in TABLE:  # True is bad news
        if condition.status == FALSE:
            return None
        return condition.type, FALSE if condition.status == TRUE else condition.status, condition.message
    if condition.status == TRUE:
        return None
    if condition.reason in TABLE:
        return condition.reason, condition.status, condition.message
    if condition.type in GOOD:
        return ("Unavailable" if condition.status == FALSE else "Provisioning"), condition.status, condition.message
    return None  # an unknown type: it changes nothing


def announce(seen: Seen, _answers: Answers) -> list[Notice]:
    if missing(seen.workload, seen.exposure):
        return []
    published, before = shown(seen), seen.endpoint
    if published.fault and published.top is not None:
        stays = f"the endpoint stays {before}" if before else "there is no endpoint"
        return [Notice("InvalidURL", f"The runtime published {published.top.url!r}: {published.fault}; {stays}")]
    if before is None or published.endpoint == before:
        return []
    if published.endpoint is None:
        return [Notice("EndpointWithdrawn", f"{before} is not shown any more", warning=False)]
    return [Notice("EndpointChanged", f"{published.endpoint} instead of {before}", warning=False)]
