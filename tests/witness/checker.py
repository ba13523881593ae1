"""Asks the clients: at every change of a condition, at random times, and often while a fault touches the object."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.witness.api import Json, Key
from tests.witness.claims import Claim, Lab, claims_of
from tests.witness.ledger import Ledger

AT_REST = (3.0, 7.0)  # seconds between two checks of a claim
AT_WORK = 1.0
BESIDE = 2.0  # times as long for claims that no fault waits for
WORKERS = 24  # a client of something frozen waits; the others must not


class Checker:
    """One check at a time for each claim of each object."""

    def __init__(self, ledger: Ledger, lab: Callable[[], Lab]) -> None:
        self._ledger = ledger
        self._lab = lab
        self._due: dict[tuple[Key, str], float] = {}
        self._again: set[tuple[Key, str]] = set()
        self._running: set[tuple[Key, str]] = set()
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="client")
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="checker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        self._pool.shutdown(wait=True)

    def soon(self, concerned: Callable[[Key], bool]) -> None:
        """Claims of these objects are checked at once; one that is being checked is checked once more."""
        for entry in list(self._due):
            if concerned(entry[0]):
                self._again.add(entry)
                self._due[entry] = 0.0

    def _run(self) -> None:
        while not self._over.wait(0.1):
            now = time.monotonic()
            for key, obj in list(self._ledger.objects.items()):
                for claim in claims_of(obj):
                    entry = (key, claim.condition)
                    due = self._due.setdefault(entry, now + random.uniform(0, 2))
                    if due <= now and entry not in self._running:
                        self._running.add(entry)
                        self._again.discard(entry)
                        self._pool.submit(self._check, claim, key, obj)

    def _check(self, claim: Claim, key: Key, obj: Json) -> None:
        entry = (key, claim.condition)
        try:
            answer = claim.client(self._lab(), obj)
            if answer is not None:
                self._ledger.answered(claim, key, answer)
        finally:
            touched = bool(self._ledger.windows.touching(key, time.monotonic(), after=5.0))
            pause = AT_WORK if touched else random.uniform(*AT_REST)
            pause *= 1.0 if claim.leading else BESIDE
            self._due[entry] = 0.0 if entry in self._again else time.monotonic() + pause
            self._running.discard(entry)
