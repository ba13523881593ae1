"""Schedules on all cores, in processes of their own."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context

from tests.simulation.attack import Attack
from tests.simulation.runner import set_up, simulate
from tests.simulation.schedules import Schedule

BATCH = 20  # schedules that a worker takes at once


@dataclass(frozen=True)
class Batch:
    """What came of some schedules: how many, those that failed, and the processor time they took."""

    done: int
    failed: tuple[tuple[str, str], ...]  # (schedule, violation)
    seconds: float


def batches(family: str, count: int, *, twice: bool = False) -> Iterator[Batch]:
    """All of them, as they come; never more in flight than the workers can take."""
    workers = os.cpu_count() or 1
    starts = iter(range(0, count, BATCH))
    with ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_prepare, initargs=(family,)
    ) as pool:
        flying: set[Future[Batch]] = set()
        while True:
            for start in islice(starts, 2 * workers - len(flying)):
                flying.add(pool.submit(_run, start, min(start + BATCH, count), twice))
            if not flying:
                return
            ready, flying = wait(flying, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in ready)


_attacks: list[Attack] = []  # of this worker


def _prepare(family: str) -> None:
    set_up()
    _attacks.append(Attack(family))


def _run(first: int, last: int, twice: bool) -> Batch:
    began = time.process_time()
    failed = []
    for seed in range(first, last):
        outcome = simulate(_attacks[0].schedule(seed))
        if outcome.violation is not None:
            failed.append((str(outcome.schedule), str(outcome.violation)))
        if twice and simulate(Schedule.parse(str(outcome.schedule))).log != outcome.log:
            failed.append((str(outcome.schedule), "replay: the same seed gave another log of writes"))
    return Batch(last - first, tuple(failed), time.process_time() - began)
