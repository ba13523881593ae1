"""Who injects: a lane for each family, whose faults are disjoint from those of others, and one for outages."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from tests.witness.api import Key, Refused
from tests.witness.claims import SHELF, Claim, leading
from tests.witness.faults.fault import Break, Fault
from tests.witness.ledger import Ledger, Sight
from tests.witness.windows import SETTLE, Window

PAUSE = 1.0  # seconds between two faults of a lane
GAP = 25.0  # seconds between two outages
READY = 60.0  # seconds that a fault waits for its targets
FLOOR = 5.0  # seconds of the shortest outage
HEALED = 3.0  # seconds in which a client that is asked every second has not failed any more


@dataclass
class Times:
    """From a break to not-True, by kind of break. None: it stayed True until the repair."""

    by_name: dict[tuple[Break, str], list[float | None]] = field(default_factory=dict)
    without_effect: list[str] = field(default_factory=list)
    healed: list[str] = field(default_factory=list)  # clients succeed again before the repair, and within a shelf life
    faults: int = 0
    ended: list[str] = field(default_factory=list)  # programs that have ended by themselves


class Injector:
    """Carries out one fault after the other. It stops between two of them, or in the midst of one, which it repairs."""

    def __init__(
        self, ledger: Ledger, times: Times, say: Callable[[str], None], soon: Callable[[Callable[[Key], bool]], None]
    ) -> None:
        self.ledger = ledger
        self._soon = soon
        self.times = times
        self.over = threading.Event()
        self.errors: list[str] = []
        self._say = say
        self._lock = threading.Lock()

    def carry_out(self, fault: Fault) -> None:
        window = Window(
            fault.name, time.monotonic(), fault.touched, fault.breaks, outage=fault.outage, mutes=fault.mutes
        )
        self.ledger.windows.open(window)
        self._say(f"{fault.family}: {fault.name}")
        try:
            self._patiently(fault.inject)
            self._soon(fault.touched)
            self._hold(fault, window)
        finally:
            self._patiently(fault.repair)
            window.end = time.monotonic()
            self._soon(fault.touched)
        self._measure(fault, window)

    def ready(self, fault: Fault, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not self.well(fault.targets):
            if self.over.is_set() or time.monotonic() > deadline:
                return False
            time.sleep(0.2)
        return True

    def well(self, keys: Sequence[Key]) -> bool:
        """All leading claims of them are True, and clients succeed. What is not claimed is not waited for."""
        return not any(self._ill(key) for key in keys)

    def _ill(self, key: Key) -> bool:
        obj = self.ledger.objects.get(key)
        if obj is None:
            return True
        for claim in leading(obj):
            course, sight = self.ledger.courses[key, claim.condition], self.ledger.sights[key, claim.condition]
            if course.changes and (course.changes[-1].status != "True" or sight.good is None):
                return True
        return False

    def _hold(self, fault: Fault, window: Window) -> None:
        deadline = window.begin + fault.seconds
        while time.monotonic() < deadline and not self.over.wait(0.2):
            known = [self._noticed(key, window) for key in fault.targets]
            if known and all(known):
                self.over.wait(min(3.0, max(0.0, deadline - time.monotonic())))
                return

    def _noticed(self, key: Key, window: Window) -> bool:
        claims = list(leading(self.ledger.objects.get(key) or {"kind": ""}))
        changed = [self._not_claimed(key, claim, window.begin) for claim in claims]
        return bool(changed) and all(moment is not None for moment in changed)

    def _not_claimed(self, key: Key, claim: Claim, begin: float) -> float | None:
        """When the condition, or the one within which alone it claims anything, was first not True."""
        moments = [self._not_true(key, name, begin) for name in (claim.condition, claim.within) if name]
        return min((moment for moment in moments if moment is not None), default=None)

    def _not_true(self, key: Key, condition: str, begin: float) -> float | None:
        course = self.ledger.courses[key, condition]
        found = (change.at for change in course.changes if change.at >= begin and change.status != "True")
        return next(found, None)

    def _measure(self, fault: Fault, window: Window) -> None:
        assert window.end is not None
        effect = False
        for key in fault.targets:
            for claim in leading(self.ledger.objects.get(key) or {"kind": ""}):
                course, sight = self.ledger.courses[key, claim.condition], self.ledger.sights[key, claim.condition]
                before = course.at(window.begin)
                if before is None or before.status != "True" or not sight.failed(window.begin, window.end):
                    continue
                effect = True
                moment = self._not_claimed(key, claim, window.begin)
                late = None if moment is None or moment > window.end else moment - window.begin
                if late is None and healed(sight, window):
                    self.times.healed.append(fault.name)
                elif late is not None or window.end - window.begin >= fault.seconds:  # else the run ended before
                    self._note(fault, late)
        with self._lock:
            self.times.faults += 1
            if fault.targets and fault.how is not Break.NONE and not effect:
                self.times.without_effect.append(fault.name)

    def _note(self, fault: Fault, seconds: float | None) -> None:
        with self._lock:
            name = f"{fault.family}: {fault.name.rsplit(' ', 1)[0]}"
            self.times.by_name.setdefault((fault.how, name), []).append(seconds)

    def _patiently(self, act: Callable[[], object]) -> None:
        """A deed that meets an outage is done when that is over."""
        for _ in range(30):
            try:
                act()
            except (OSError, Refused, RuntimeError) as error:
                last = str(error)
                time.sleep(1)
            else:
                return
        self.errors.append(last)


def healed(sight: Sight, window: Window) -> bool:
    """A program that was started again by itself, before it had to be noticed."""
    assert window.end is not None
    failures = [moment for moment in sight.failures if window.begin <= moment <= window.end]
    return bool(failures) and window.end - failures[-1] > HEALED and failures[-1] - failures[0] < SHELF


class Lane(threading.Thread):
    """Faults of one family, in random order, each waiting until its targets are well."""

    def __init__(self, injector: Injector, faults: Sequence[Fault], lock: threading.Lock, seed: int) -> None:
        super().__init__(name=f"lane {faults[0].family}", daemon=True)
        self._injector = injector
        self._faults = faults
        self._lock = lock
        self._random = random.Random(seed)

    def run(self) -> None:
        order: list[Fault] = []
        while not self._injector.over.wait(PAUSE):
            order = order or self._random.sample(self._faults, len(self._faults))
            fault = order.pop()
            with self._lock:
                if self._injector.ready(fault, READY / 2 if order else READY):
                    self._injector.carry_out(fault)
                    self._injector.ready(fault, SETTLE)


class Outages(threading.Thread):
    """One outage after the other, of 5 s to `limit`. Lanes of the families that it concerns wait."""

    def __init__(self, injector: Injector, made: Callable[[float], list[Fault]], limit: float, seed: int) -> None:
        super().__init__(name="outages", daemon=True)
        self._injector = injector
        self._made = made
        self._limit = limit
        self._random = random.Random(seed)
        self.locks: dict[str, threading.Lock] = {}

    def run(self) -> None:
        order: list[int] = []
        while not self._injector.over.wait(GAP):
            seconds = math.exp(self._random.uniform(math.log(FLOOR), math.log(self._limit)))
            faults = self._made(seconds)
            order = order or self._random.sample(range(len(faults)), len(faults))
            fault = faults[order.pop()]
            with ExitStack() as stack:
                for family in sorted(fault.families):
                    stack.enter_context(self.locks[family])
                if not self._injector.over.is_set():
                    self._injector.carry_out(fault)
                    self._settle(fault)

    def _settle(self, fault: Fault) -> None:
        """Until what it concerned is well again."""
        deadline = time.monotonic() + SETTLE
        keys = [key for key in list(self._injector.ledger.objects) if fault.touched(key)]
        while not self._injector.well(keys) and time.monotonic() < deadline and not self._injector.over.wait(0.5):
            continue
