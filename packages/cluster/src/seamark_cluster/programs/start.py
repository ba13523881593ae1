"""Starts a program of this package: `python -I start.py NAME ARGS`.

A script, so that a container needs no PYTHONPATH.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from seamark_cluster.programs.catalogue import main

    sys.exit(main(sys.argv[1:]))
