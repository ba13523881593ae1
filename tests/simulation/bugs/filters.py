"""Filters that let pass what they do not understand."""

from __future__ import annotations

from seamark.providers.dns import domains
from tests.simulation.bugs.bug import Bugs, swap

BUGS = Bugs("untrusted input")


@BUGS.bug(
    "a filter compares spellings",
    "an excluded domain is kept as it was written, and names are compared in their canonical form",
    "dns/0/calm/",
)
def a_filter_compares_spellings() -> None:
    def as_written(_field: str, text: str) -> domains._Domain:
        bare = text.strip()
        name = bare.removeprefix(".").lower()
        return domains._Domain(name.removeprefix("*."), itself=not bare.startswith((".", "*.")))

    swap(domains._domain, as_written)
