"""Makes the page.

python -m tools.report [--results build-output] [--out build-output/report.html]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.report.page import page
from tools.report.runs import Results, read
from tools.results import FOLDER


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.report", description="Results as a page with plots.")
    parser.add_argument("--results", type=Path, default=FOLDER, help="where the tools have kept them")
    parser.add_argument("--out", type=Path, help="the page; report.html beside them if not said")
    given = parser.parse_args(arguments)
    results = read(given.results)
    if not results.runs and not results.memory:
        print("report: there are no results yet: run make bench, make simulate or make soak first", file=sys.stderr)
        return 2
    out: Path = given.out or given.results / "report.html"
    out.write_text(page(results, when(results)))
    print(f"{len(results.runs)} runs are shown in {out}")
    return 0


def when(results: Results) -> str:
    """Which runs these are."""
    if not results.runs:
        return "Samples of a soak, and no runs yet."
    last = results.runs[-1]
    return f"{len(results.runs)} runs, the last of {last.day} UTC at {last.commit or 'an unknown commit'}."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
