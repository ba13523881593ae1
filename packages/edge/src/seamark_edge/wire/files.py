"""How many connections a process may have open."""

from __future__ import annotations

import sys


def allow_many_files() -> int:
    """Raise the soft limit of open files to the hard one; gives what is allowed then, 0 where that is unknown.

    Shells hand out 1024 by default, and every connection through an edge takes one there and one at its agent.
    """
    if sys.platform == "win32":
        return 0
    import resource  # noqa: PLC0415  # not on every platform

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        except (OSError, ValueError):  # macOS reports an infinite hard limit, and accepts at most a kernel setting
            return soft
    return hard


def allowed_files() -> int:
    """How many files this process may have open now; 0 where that is unknown or unlimited."""
    if sys.platform == "win32":
        return 0
    import resource  # noqa: PLC0415  # not on every platform

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 0 if soft == resource.RLIM_INFINITY else soft
