"""Filters that let pass what they do not understand."""

from __future__ import annotations

from tests.simulation.bugs.bug import Bug, Change

KIND = "untrusted input"

BUGS = (
    Bug(
        "a filter compares spellings",
        KIND,
        "an excluded domain is kept as it was written, and names are compared in their canonical form",
        (
            Change(
                "seamark.providers.dns.domains",
                '        name = canonical_name(bare.removeprefix("."))\n',
                '        name = bare.removeprefix(".").lower()\n',
            ),
        ),
        ("dns/0/calm/",),
    ),
)
