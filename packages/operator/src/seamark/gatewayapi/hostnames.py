"""Host names of listeners and routes: which cover which, and what they have in common. Pure."""

from __future__ import annotations

from collections.abc import Iterator


def covers(pattern: str, name: str) -> bool:
    """Whether every name that `name` matches is matched by `pattern`. An empty one matches every name."""
    if not pattern or pattern == name:
        return True
    return pattern.startswith("*.") and name.removeprefix("*").endswith(pattern[1:]) and name != pattern[2:]


def covering(name: str) -> Iterator[str]:
    """The patterns that cover a name, the most specific first; not the one that stands for every name."""
    yield name
    parent = name.removeprefix("*.")
    while "." in parent:
        parent = parent.partition(".")[2]
        yield f"*.{parent}"


def common_hostnames(listener: str, hostnames: tuple[str, ...]) -> tuple[str, ...]:
    """The hostnames under which a route is served by a listener; "" for all; none when they share no name."""
    if not hostnames:
        return (listener,)
    found = []
    for hostname in hostnames:
        if covers(listener, hostname):
            found.append(hostname)
        elif covers(hostname, listener):
            found.append(listener)
    return tuple(dict.fromkeys(found))


def specificity(pattern: str) -> tuple[int, int]:
    """Of two patterns that cover a name, the greater precedes: no wildcard, then the longer."""
    return (0 if pattern.startswith("*.") or not pattern else 1, len(pattern))
