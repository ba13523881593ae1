"""WorkloadExposure → the endpoint and RuntimeReady of its Workload. No client, no clock.

- The entries are sorted by priority, the first of equals first; only the top one is looked at: there is no fallback.
- What is no URI leaves the endpoint as it was. Nothing published, for this generation, is no endpoint.
"""

from __future__ import annotations

from dataclasses import dataclass

from seamark.api.score import Exposure
from seamark.families.score.mirror.answer import missing
from seamark.families.score.mirror.normalise import normalised
from seamark.families.score.mirror.state import Mirrored, Seen
from seamark.families.score.model.conditions import RUNTIME_READY
from seamark.families.score.platform.uris import fault
from seamark_runtime.api.meta import Condition
from seamark_runtime.apply import Answers
from seamark_runtime.conditions import FALSE
from seamark_runtime.controller import Wanted
from seamark_runtime.events import Notice


def desire(_seen: Seen) -> Wanted:
    return Wanted()


def judge(seen: Seen, _answers: Answers) -> Mirrored:
    if waiting := missing(seen.workload, seen.exposure):
        reason = "RuntimeSelecting" if seen.exposure is None else "RuntimeProvisioning"
        make = RUNTIME_READY.not_yet if seen.untouched else RUNTIME_READY.unknown
        return Mirrored(endpoint=seen.endpoint, conditions=(make(reason, waiting),))
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
    condition = normalised(conditions, published.top)
    if not published.fault:
        return condition
    invalid = f"The published URL is not valid: {published.fault}"
    if condition.status == FALSE:
        return RUNTIME_READY.false(condition.reason, f"{condition.message}. {invalid}")
    return RUNTIME_READY.unknown("RuntimeProvisioning", invalid)


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
