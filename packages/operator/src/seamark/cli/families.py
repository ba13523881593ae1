"""Which families there are."""

from __future__ import annotations

from collections.abc import Iterable

from seamark.families.bindings.family import BINDINGS
from seamark.families.dns.family import DNS
from seamark.families.gateway.family import GATEWAY
from seamark.families.loadbalancer.family import LOADBALANCER
from seamark.families.sample.family import SAMPLE
from seamark.families.score.family import SCORE
from seamark_runtime.errors import UserError
from seamark_runtime.family import Family

FAMILIES = {family.name: family for family in (SAMPLE, DNS, LOADBALANCER, BINDINGS, *SCORE, GATEWAY)}


def chosen(names: Iterable[str]) -> tuple[Family, ...]:
    """The families of these names. Naming none is an error: the user has to decide what the operator changes."""
    names = tuple(names)
    if not names:
        known = ", ".join(FAMILIES)
        raise UserError("no family is named", hint=f"name some with --families NAME,NAME or SEAMARK_FAMILIES: {known}")
    for name in names:
        if name not in FAMILIES:
            raise UserError(f"there is no family {name!r}", hint="there are " + ", ".join(FAMILIES))
    return tuple(FAMILIES[name] for name in names)
