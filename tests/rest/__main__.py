"""python -m tests.rest --minutes N: the product with all examples for N minutes in which nothing changes."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.rest.counting import EXCLUDED, Counter, Result
from tests.rest.following import Follower
from tests.rest.product import Product

QUIET, SETTLE = 30.0, 180.0  # it is settled after so long without a change, and at the latest after this
SHOWN = 50  # findings


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tests.rest", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="rest-") as folder:
        result = rest(Product(Path(folder)), given.minutes)
    for line in [*result.findings()[:SHOWN], *(f"missed: {bar}" for bar in result.missed()), result.last_line()]:
        print(line, flush=True)  # noqa: T201
    return 1 if result.missed() else 0


def rest(product: Product, minutes: float) -> Result:
    counter = Counter()
    left: tuple[str, ...] = ()
    try:
        kinds = Follower(product.start(), counter.seen).start()
        settle(counter)
        excluded = ", ".join(f"{kind} ({why})" for kind, why in EXCLUDED.items())
        say(f"settled; {len(kinds)} kinds are watched for {minutes:g} minutes, all but {excluded}")
        counter.begin()
        shares = observe(product, minutes * 60)
        counter.end()
    finally:
        left = product.stop()
    for name, share in shares.items():
        say(f"cpu_share {share:.3f} {name}")
    return Result(minutes, counter, shares["operator"], left)


def settle(counter: Counter) -> None:
    began = last = time.monotonic()
    changes = -1
    while time.monotonic() - last < QUIET and time.monotonic() - began < SETTLE:
        if counter.changes != changes:
            changes, last = counter.changes, time.monotonic()
        time.sleep(0.5)


def observe(product: Product, seconds: float) -> dict[str, float]:
    """The share of one core of each process that was there all the time."""
    began, before = time.monotonic(), product.cpu()
    while time.monotonic() - began < seconds:
        if not product.alive:
            raise RuntimeError(f"`seamark dev` ended: {product.log.read_text()[-2000:]}")
        time.sleep(min(1.0, seconds))
    elapsed, after = time.monotonic() - began, product.cpu()
    return {name: (after[name] - used) / elapsed for name, used in before.items() if name in after}


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
