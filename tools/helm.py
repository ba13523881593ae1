"""Helm, compiled once from its published Go module into the user's cache.

python -m tools.helm prints where it is.
"""

from __future__ import annotations

import fcntl
import hashlib
from pathlib import Path

from seamark_cluster.real.binaries import VERSION, cache_root
from tools.golang import go

SOURCE = Path(__file__).parent / "helmbuild"
PROGRAM = "helm.sh/helm/v3/cmd/helm"
MINOR = VERSION.split(".")[1]  # what is rendered without a cluster is rendered for the version that we test with
KNOWN = ("pkg/chartutil.k8sVersionM", "pkg/lint/rules.k8sVersionM")
LINKER = " ".join(["-s -w", *(f"-X helm.sh/helm/v3/{at}ajor=1 -X helm.sh/helm/v3/{at}inor={MINOR}" for at in KNOWN)])


def built() -> Path:
    """The program. From nothing this takes some minutes."""
    made_of = b"".join((SOURCE / name).read_bytes() for name in ("go.mod", "go.sum"))
    mark = hashlib.sha256(made_of + LINKER.encode()).hexdigest()[:16]
    place = cache_root() / "helm" / mark
    place.mkdir(parents=True, exist_ok=True)
    helm = place / "helm"
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not helm.exists():
            part = helm.with_suffix(".part")
            go(SOURCE, "build", "-trimpath", "-ldflags", LINKER, "-o", str(part), PROGRAM)
            part.rename(helm)
    return helm


if __name__ == "__main__":
    print(built())
