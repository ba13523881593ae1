"""`csrf`: without a percentage it is enforced for every request."""

from __future__ import annotations

from seamark.api.trafficfilters import Csrf
from seamark.families.gateway.rules.features.references import References
from seamark.families.gateway.rules.features.values import most, percentage, text_rule
from seamark.families.gateway.values.limits import Unsupported
from seamark_edge.dataplane import filters
from seamark_runtime.untrusted.patterns import Budget

MOST_ORIGINS = 16


def read(field: str, given: Csrf, _references: References) -> filters.Csrf:
    if given.percentage_enabled is not None and given.percentage_shadowed is not None:
        raise Unsupported(f"{field}: percentageEnabled and percentageShadowed exclude each other")
    shadowed = percentage(f"{field}.percentageShadowed", given.percentage_shadowed or 0)
    everything = 100 if given.percentage_shadowed is None else 0
    enforced = everything if given.percentage_enabled is None else given.percentage_enabled
    origins = most(f"{field}.additionalOrigins", given.additional_origins, MOST_ORIGINS)
    patterns = Budget()
    return filters.Csrf(
        enforced=percentage(f"{field}.percentageEnabled", enforced),
        shadowed=shadowed,
        origins=tuple(
            text_rule(f"{field}.additionalOrigins[{n}]", origin, patterns) for n, origin in enumerate(origins)
        ),
    )
