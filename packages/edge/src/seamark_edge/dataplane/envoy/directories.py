"""Where Envoys that outlive the operator have their directory, if no setting names one.

- One directory for each installation: a text that differs for the operators of two clusters, or of two Leases.
- It is below the user's state directory. Where that cannot be used, because the path would be too long for a socket or
  nothing can be written there, it is below a directory for temporary files.
- What it is in belongs to this user, and no other user can write there.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

LONGEST_SOCKET = 100  # bytes of a path that the kernel takes for a socket, less a few
OTHERS_WRITE = 0o022


def directory_of(installation: str, environment: Mapping[str, str]) -> Path | None:
    """None where no directory can be used."""
    name = hashlib.sha256(installation.encode()).hexdigest()[:16]
    return next((parent / name for parent in parents(environment) if fits(parent / name) and usable(parent)), None)


def directories(environment: Mapping[str, str]) -> list[Path]:
    """Those of all installations."""
    found = dict.fromkeys(parent for parent in parents(environment) if parent.is_dir() and usable(parent))
    return [path for parent in found for path in sorted(parent.iterdir()) if path.is_dir()]


def parents(environment: Mapping[str, str]) -> Iterator[Path]:
    """In the order in which they are tried."""
    try:
        state = Path(environment.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    except RuntimeError:  # a user without a home
        pass
    else:
        if state.is_absolute():
            yield state / "seamark" / "envoys"
    for temporary in (tempfile.gettempdir(), "/tmp"):  # noqa: S108  # only a directory that is ours is used there
        yield Path(temporary) / f"seamark-{os.geteuid()}"


def fits(directory: Path) -> bool:
    """Whether a socket in it can be bound."""
    return len(os.fsencode(directory / "xds")) <= LONGEST_SOCKET


def usable(parent: Path) -> bool:
    try:
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = parent.lstat()
    except OSError:
        return False
    ours = found.st_uid == os.geteuid() and not found.st_mode & OTHERS_WRITE
    return ours and not parent.is_symlink() and os.access(parent, os.W_OK | os.X_OK)
