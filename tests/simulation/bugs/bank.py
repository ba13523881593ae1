"""All planted bugs."""

from __future__ import annotations

from tests.simulation.bugs import filters, identity, leading, retries, staleness, tenants, untrusted, words
from tests.simulation.bugs.bug import Bug

BANK: tuple[Bug, ...] = (
    *identity.BUGS,
    *staleness.BUGS,
    *retries.BUGS,
    *words.BUGS,
    *leading.BUGS,
    *tenants.BUGS,
    *untrusted.BUGS,
    *filters.BUGS,
)


def named(name: str) -> Bug:
    return next(bug for bug in BANK if bug.name == name)
