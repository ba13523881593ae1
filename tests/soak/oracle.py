"""Checks at the remote side, repeatedly, whether the reported status holds."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from tests.soak.accounting import Doubts
from tests.soak.crowd import Crowd, Json
from tests.soak.world import SHELF_LIFE

GRACE = 15.0  # seconds on top: for a look at the remote side, and a busy machine
PAUSE = 1.0


class Oracle:
    """Looks in a thread of its own from `start` to `stop`. `counts` is how many reported ready, and were."""

    def __init__(self, crowds: Mapping[str, Crowd]) -> None:
        self.doubts = Doubts()
        self.counts = (0, 0)
        self._crowds = crowds
        self._known: dict[str, set[str]] = {mark: set() for mark in crowds}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="oracle", daemon=True)
        self._trouble: Exception | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(60)
        if self._trouble is not None:
            raise self._trouble

    def _run(self) -> None:
        try:
            with ThreadPoolExecutor(8) as pool:
                while not self._stop.wait(PAUSE):
                    found = [pool.submit(self._round, mark) for mark in self._crowds]
                    counts = [one.result() for one in found]
                    self.counts = (sum(said for said, _ in counts), sum(true for _, true in counts))
        except Exception as error:
            self._trouble = error

    def _round(self, mark: str) -> tuple[int, int]:
        crowd = self._crowds[mark]
        listed = crowd.listed()
        if listed is None:
            self.doubts.begin_anew()
            return 0, 0
        for name in self._known[mark] - set(listed):
            self.doubts.forget(name)
        self._known[mark] = set(listed)
        said = [one for one in listed.values() if _stays(one) and crowd.reports_ready(one)]
        true = 0
        for name, obj in listed.items():
            believed = obj in said
            so = believed and crowd.true(obj)
            true += so
            self.doubts.look(name, time.monotonic(), SHELF_LIFE + GRACE, said=believed, true=so)
        return len(said), true


def _stays(obj: Json) -> bool:
    return "deletionTimestamp" not in obj["metadata"]
