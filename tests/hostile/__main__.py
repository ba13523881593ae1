"""python -m tests.hostile: every field that a tenant may write, with a corpus, on the real API server.

`--fast` is the part that `make test` runs. `--edge` tries an agent's token and anonymous clients at the edge's ports.
`--plant` makes something go wrong that must be found. `--only KIND` tries some kinds alone.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from seamark_runtime import log
from tests.hostile.plants import PLANTS
from tests.hostile.run import Options, run


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tests.hostile", description=__doc__)
    parser.add_argument("--fast", action="store_true", help="a part of the cases, in three minutes")
    parser.add_argument("--edge", action="store_true", help="attack the ports of an edge instead")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=0.0, help="of attack at most")
    parser.add_argument("--per-group", type=int, default=1, help="values of each class for each field")
    parser.add_argument("--only", action="append", default=[], metavar="KIND")
    parser.add_argument("--without", action="append", default=[], metavar="TEXT", help="no cases with this text")
    parser.add_argument("--plant", choices=sorted(PLANTS), default="")
    if "--edge" in arguments:  # it has options of its own
        code: int = importlib.import_module("tests.hostile.edge.run").main([a for a in arguments if a != "--edge"])
        return code
    given = parser.parse_args(arguments)
    log.configure("error")
    options = Options(
        fast=given.fast,
        seed=given.seed,
        minutes=given.minutes or (1.6 if given.fast else 25.0),
        per_group=given.per_group,
        only=tuple(given.only),
        without=tuple(given.without),
        plant=given.plant,
    )
    report = run(options)
    return 1 if report.failed or (report.missed and not given.fast) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
