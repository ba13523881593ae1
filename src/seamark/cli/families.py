"""Which families there are."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.core.errors import UserError
from seamark.core.family import Family
from seamark.families.bindings.family import BINDINGS
from seamark.families.dns.family import DNS
from seamark.families.gateway.family import GATEWAY
from seamark.families.loadbalancer.family import LOADBALANCER
from seamark.families.sample.family import SAMPLE
from seamark.families.score.family import SCORE

FAMILIES = {family.name: family for family in (SAMPLE, DNS, LOADBALANCER, BINDINGS, *SCORE, GATEWAY)}


def chosen(names: Iterable[str]) -> tuple[Family, ...]:
    for name in names:
        if name not in FAMILIES:
            raise UserError(f"there is no family {name!r}", hint="there are " + ", ".join(FAMILIES))
    return tuple(FAMILIES[name] for name in names)
