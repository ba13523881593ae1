"""Programs in Go, compiled from their published modules with the toolchain that the control plane is compiled with."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from seamark_cluster.real.binaries import cache_root
from seamark_cluster.real.gobuild import toolchain


def go(source: Path, *arguments: str) -> None:
    """Runs `go` in the module at `source`, with exactly the versions that its go.sum names."""
    program = toolchain(cache_root(), lambda *_: None)
    flags = "-mod=readonly -buildvcs=false -p=2"
    environment = {**os.environ, "GOTOOLCHAIN": "local", "CGO_ENABLED": "0", "GOFLAGS": flags, "GOWORK": "off"}
    subprocess.run([str(program), *arguments], cwd=source, env=environment, check=True)
