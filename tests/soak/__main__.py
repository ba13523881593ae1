"""python -m tests.soak --minutes N: churn and faults for N minutes; what is left, and what was reported, is counted."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

from seamark_runtime import log
from tests.cluster.operator_under_test import WRITES
from tests.cluster.recorder import Recorder
from tests.soak.accounting import Account
from tests.soak.crowd import Crowd, Refused
from tests.soak.crowds import CROWDS
from tests.soak.faults import FAULTS
from tests.soak.oracle import Oracle
from tests.soak.world import USER, World, wait_until_up, world
from tests.status_rules import check

SAMPLES = Path("build-output/soak.jsonl")
EVERY = 5.0  # seconds between two samples
BREATH = 25.0  # seconds between two faults
SETTLE, REST = 120.0, 20.0


class Soak:
    """One run. What should be there is `wanted`, by crowd."""

    def __init__(self, there: World, seed: int, samples: Any) -> None:
        self._world = there
        self._random = Random(seed)
        self._out = samples
        self._began = time.monotonic()
        self.crowds: dict[str, Crowd] = {mark: kind(there) for mark, kind in CROWDS.items()}
        self.oracle = Oracle(self.crowds)
        self.wanted: dict[str, set[str]] = {mark: set() for mark in CROWDS}
        self.rss: list[tuple[float, float]] = []
        self._made = 0
        self._next_sample = 0.0

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._began

    # ---- churn

    def churn(self, minutes: float) -> None:
        end, next_fault, faults = self.elapsed + minutes * 60, self.elapsed + BREATH, 0
        for mark, crowd in self.crowds.items():
            for _ in range(crowd.most):
                self._patiently(lambda mark=mark: self._make(mark))
        while self.elapsed < end:
            self.sample()
            if self.elapsed >= next_fault and end - self.elapsed > BREATH:
                fault = FAULTS[faults % len(FAULTS)]
                self.sample(fault.__name__)
                fault(self._world)
                faults, next_fault = faults + 1, self.elapsed + BREATH
            self._patiently(self._something)
            time.sleep(self._random.uniform(0.2, 1.5))

    def _something(self) -> None:
        mark = self._random.choice(list(self.crowds))
        crowd, there = self.crowds[mark], sorted(self.wanted[mark])
        if not there or (len(there) < crowd.most and self._random.random() < 0.5):
            self._make(mark)
        elif self._random.random() < 0.3:
            name = self._random.choice(there)
            crowd.drop(name)
            self.wanted[mark].discard(name)
        else:
            crowd.change(self._random.choice(there), self._random.randrange(1000))

    def _make(self, mark: str) -> None:
        self._made += 1
        name = f"{mark}-{self._made}"
        self.wanted[mark].add(name)
        self.crowds[mark].make(name)

    def _patiently(self, deed: Any) -> None:
        try:
            deed()
        except Refused:
            time.sleep(0.5)  # what was not made is made at the end

    # ---- the end

    def settle(self) -> list[str]:
        """Who should be ready, and does not get there in time."""
        for mark, names in self.wanted.items():
            for name in sorted(names):
                self._insist(lambda mark=mark, name=name: self.crowds[mark].make(name))
        deadline = time.monotonic() + SETTLE
        while (missing := self._missing()) and time.monotonic() < deadline:
            self.sample()
            time.sleep(0.5)
        return missing

    def _missing(self) -> list[str]:
        missing = []
        for mark, crowd in self.crowds.items():
            listed = crowd.listed() or {}
            for name in sorted(self.wanted[mark]):
                obj = listed.get(name)
                if obj is None or not crowd.reports_ready(obj) or not crowd.true(obj):
                    words = json.dumps((obj or {}).get("status"))
                    missing.append(f"{crowd.kind.kind} {name}: {words}")
        return missing

    def rest(self) -> list[str]:
        """What is written while nothing happens; leases apart."""
        self._pause(REST / 2)
        audit = self._world.machine.plane.audit
        mark = audit.mark()
        self._pause(REST)
        return [
            f"{one.verb} {one.resource}/{one.subresource} {one.namespace}/{one.name}"
            for one in audit.entries(mark)
            if one.user == USER and one.verb in WRITES and one.resource != "leases" and one.resource[:4] != "self"
        ]

    def clear(self) -> list[str]:
        """What is left after everything was deleted."""
        for mark, names in self.wanted.items():
            for name in sorted(names):
                self._insist(lambda mark=mark, name=name: self.crowds[mark].drop(name))
            names.clear()
        deadline = time.monotonic() + SETTLE
        while (left := self._left()) and time.monotonic() < deadline:
            self.sample()
            time.sleep(0.5)
        return left

    def _left(self) -> list[str]:
        objects = [f"{self.crowds[m].kind.kind} {name}" for m in CROWDS for name in self.crowds[m].listed() or ()]
        return sorted({*objects, *(one for crowd in self.crowds.values() for one in crowd.left())})

    def _insist(self, deed: Any) -> None:
        for _ in range(60):
            try:
                deed()
            except Refused:
                time.sleep(1)
            else:
                return
        raise AssertionError("the API server does not come back")

    # ---- samples

    def sample(self, fault: str = "") -> None:
        assert self._world.operator.poll() is None, f"the operator ended: {self._world.log.read_text()[-3000:]}"
        if not fault and self.elapsed < self._next_sample:
            return
        self._next_sample = self.elapsed + EVERY
        said, true = self.oracle.counts
        rss = self._world.rss_mb
        self.rss.append((self.elapsed, rss))
        wanted = sum(map(len, self.wanted.values()))
        one = {"seconds": round(self.elapsed, 1), "rss_mb": round(rss, 1), "wanted": wanted, "said": said, "true": true}
        self._out.write(json.dumps({**one, "lies": len(self.oracle.doubts.lies), "fault": fault}) + "\n")
        self._out.flush()
        if fault:
            print(f"{self.elapsed:6.0f} s  {fault.replace('_', ' ')}  (rss {rss:.0f} MB)", flush=True)  # noqa: T201

    def _pause(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.sample()
            time.sleep(0.5)


def broken(crowds: dict[str, Crowd], recorders: dict[str, Recorder]) -> list[str]:
    """Every state that broke a rule of status."""
    found = []
    for mark, recorder in recorders.items():
        crowd = crowds[mark]
        for key, history in recorder.histories.items():
            if key[1].startswith((f"{mark}-", "ngrok-")):
                for ours in crowd.ours or (None,):
                    wrong = [one for one in check(history, ours=ours) if one.rule not in crowd.exempt]
                    found += [f"{crowd.kind.kind} {key[1]}: {one}" for one in wrong]
    return found


@contextmanager
def recording(there: World, crowds: dict[str, Crowd]) -> Iterator[dict[str, Recorder]]:
    recorders = {m: Recorder(there.machine.plane, crowd.kind, crowd.namespace) for m, crowd in crowds.items()}
    for recorder in recorders.values():
        recorder.start()
    try:
        yield recorders
    finally:
        for recorder in recorders.values():
            recorder.stop()


def run(minutes: float, seed: int) -> Account:
    SAMPLES.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, world(Path(folder)) as there, ExitStack() as stack:
        stack.callback(keep, there.log)
        wait_until_up(there)
        soak = Soak(there, seed, stack.enter_context(SAMPLES.open("w")))
        print(f"everything is up; {minutes:g} minutes of churn and faults", flush=True)  # noqa: T201
        with recording(there, soak.crowds) as recorders:
            soak.oracle.start()
            try:
                soak.churn(minutes)
                lost = soak.settle()
                idle = soak.rest()
                leaked = soak.clear()
            finally:
                soak.oracle.stop()
        lies = [*soak.oracle.doubts.lies, *broken(soak.crowds, recorders)]
        account = Account(minutes, lost, leaked, lies, soak.rss, idle)
        for words in account.words():  # at once: to end everything takes a while, and may fail
            print(words, flush=True)  # noqa: T201
    return account


def keep(log_file: Path) -> None:
    """The operator's log, to find out why."""
    SAMPLES.with_name("soak-operator.log").write_bytes(log_file.read_bytes())


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    log.configure("error")
    account = run(given.minutes, given.seed)
    print(account.line())  # noqa: T201
    return 0 if account.good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
