"""The suite and its backend, compiled once from the Go module proxy into the user's cache."""

from __future__ import annotations

import fcntl
import hashlib
from pathlib import Path

from seamark_cluster.real.binaries import cache_root
from tools.golang import go

SOURCE = Path(__file__).parent / "suite"
BACKEND = "sigs.k8s.io/gateway-api-conformance-images/echo-basic"


def built() -> tuple[Path, Path]:
    """The suite's and the backend's program. From nothing this takes some minutes."""
    names = ("go.mod", "go.sum", "suite_test.go", "backend.go")
    mark = hashlib.sha256(b"".join((SOURCE / name).read_bytes() for name in names)).hexdigest()[:16]
    place = cache_root() / "conformance" / mark
    place.mkdir(parents=True, exist_ok=True)
    suite, backend = place / "suite.test", place / "echo-basic"
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not backend.exists():
            go(SOURCE, "build", "-o", f"{backend}.part", BACKEND)
            Path(f"{backend}.part").rename(backend)
        if not suite.exists():
            go(SOURCE, "test", "-c", "-o", f"{suite}.part", ".")
            Path(f"{suite}.part").rename(suite)
    return suite, backend
