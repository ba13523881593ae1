"""`tls.options` of a listener: which TLS versions it takes. An option that can't be served is reported, not ignored."""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "kgateway.dev/"  # options of other prefixes are for other implementations
OLDEST, NEWEST = PREFIX + "min-tls-version", PREFIX + "max-tls-version"
VERSIONS = ("1.0", "1.1", "1.2", "1.3")


def options_problem(options: Mapping[str, str] | None) -> str:
    """What can't be served; empty when all of it can."""
    given = options or {}
    for name in sorted(given):
        if name.startswith(PREFIX) and name not in (OLDEST, NEWEST):
            return f"The TLS option {name[:100]} is not supported; supported are {OLDEST} and {NEWEST}"
    oldest, newest = tls_versions(given)
    for name, version in ((OLDEST, oldest), (NEWEST, newest)):
        if version and version not in VERSIONS:
            return f"The TLS option {name} must be one of {', '.join(VERSIONS)}"
    if oldest and newest and VERSIONS.index(oldest) > VERSIONS.index(newest):
        return f"The TLS option {OLDEST} is above {NEWEST}"
    return ""


def tls_versions(options: Mapping[str, str] | None) -> tuple[str, str]:
    """The oldest and the newest version; empty where none is named."""
    given = options or {}
    return given.get(OLDEST, ""), given.get(NEWEST, "")
