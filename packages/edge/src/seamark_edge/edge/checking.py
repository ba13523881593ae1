"""Checks of policies and certificates: in a worker thread, paid for by the caller.

Reading a policy takes milliseconds of CPU, a certificate with its key as well. Neither runs on the event loop.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from cryptography import x509

from seamark_edge.edge.errors import Refusal, over_share
from seamark_edge.edge.keypairs import check_pair
from seamark_edge.edge.policy import EMPTY, Policy
from seamark_edge.edge.policy_document import parse_policy, policy_text
from seamark_edge.edge.shares import Caller, Shares

SECONDS_PER_MINUTE = 2.0  # of CPU time that the checks of one token or key may take
MOST_RESULTS = 128  # checked policies that are remembered
LONGEST_PAUSE = 0.1  # seconds after a check
SWITCH_SECONDS = 0.0005  # seconds after which a check yields to the event loop: ten times as often as by default
THE_EDGE = Caller("")  # the caller of checks that the edge makes on its own behalf; they are not limited

api_caller: ContextVar[Caller] = ContextVar("api_caller", default=THE_EDGE)  # who makes the current API request

T = TypeVar("T")


class TimeBudget:
    """CPU time of the checks of each caller. A check that began is finished and charged."""

    def __init__(self, seconds: float = SECONDS_PER_MINUTE) -> None:
        self.seconds = seconds
        self._shares = Shares(seconds)

    def admit(self, caller: Caller, now: float) -> None:
        """Refuse a caller without time left, with the time after which to try again."""
        if (wait := self._shares.wait(caller, now)) > 0:
            raise over_share(
                f"checks of policies and certificates took more than {self.seconds:g} s of CPU time in a minute",
                caller.owner,
                wait,
            )

    def charge(self, caller: Caller, seconds: float, now: float) -> None:
        self._shares.charge(caller, seconds, now)


class Checker:
    """Checks what callers set.

    - One check runs at a time, in one thread; each token and key has at most one in the queue, so no caller waits
      behind all checks of another. Within a token or key its owners take turns in the same way: however many owners
      it names,
      others wait for one check of it.
    - A caller pays with CPU time. A check whose caller left is finished and charged all the same.
    - A caller without time left is refused at once: it does not wait in the queue for that.
    - The result for a policy text, a refusal included, is remembered.
    """

    def __init__(self, budget: TimeBudget | None = None) -> None:
        self._budget = budget or TimeBudget()
        sys.setswitchinterval(SWITCH_SECONDS)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="edge-checks")
        self._queue = asyncio.Lock()
        self._callers: WeakValueDictionary[Caller, asyncio.Lock] = WeakValueDictionary()
        self._credentials: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._results: OrderedDict[bytes, Policy | Refusal] = OrderedDict()  # by the text's digest; the oldest first

    async def policy(self, given: Any, caller: Caller) -> Policy:
        """The policy in this text or object; a refusal names the error."""
        text = policy_text(given)
        if not text:
            return EMPTY
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        result = self._results.get(digest)
        if result is None:
            self._admit(caller)
            result = await self._run(self._policy_in_turn(caller, digest, text))
        if isinstance(result, Refusal):
            raise Refusal(result.code, result.message, status=result.status)
        return result

    async def _policy_in_turn(self, caller: Caller, digest: bytes, text: str) -> Policy | Refusal:
        async with self._turn(caller):
            result = self._results.get(digest)  # the same text may have been checked meanwhile
            if result is None:
                result = await self._in_thread(caller, partial(_policy_or_refusal, text))
                if len(self._results) >= MOST_RESULTS:
                    self._results.popitem(last=False)
                self._results[digest] = result
            return result

    async def pair(self, certificate: str, key: str, caller: Caller) -> x509.Certificate:
        """The leaf certificate; BadPair if the two can't serve TLS."""
        self._admit(caller)
        return await self._run(self._pair_in_turn(caller, partial(check_pair, certificate, key)))

    async def _pair_in_turn(self, caller: Caller, check: Callable[[], x509.Certificate]) -> x509.Certificate:
        async with self._turn(caller):
            return await self._in_thread(caller, check)

    def _admit(self, caller: Caller) -> None:
        if caller != THE_EDGE:
            self._budget.admit(caller, time.monotonic())

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._thread.shutdown(wait=True, cancel_futures=True)

    @asynccontextmanager
    async def _turn(self, caller: Caller) -> AsyncIterator[None]:
        owner = self._callers.setdefault(caller, asyncio.Lock())
        credential = self._credentials.setdefault(caller.credential, asyncio.Lock())
        async with owner, credential, self._queue:
            yield

    async def _run(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return await asyncio.shield(task)

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved here as well: the caller may have left

    async def _in_thread(self, caller: Caller, check: Callable[[], T]) -> T:
        self._admit(caller)
        outcome, seconds = await asyncio.get_running_loop().run_in_executor(self._thread, _timed, check)
        self._budget.charge(caller, seconds, time.monotonic())
        await asyncio.sleep(min(seconds, LONGEST_PAUSE))  # the thread takes at most half of the interpreter's time
        return outcome()


def _policy_or_refusal(text: str) -> Policy | Refusal:
    """What is remembered for this text."""
    try:
        return parse_policy(text)
    except Refusal as refusal:
        return Refusal(refusal.code, refusal.message, status=refusal.status)


def _timed(check: Callable[[], T]) -> tuple[Callable[[], T], float]:
    """The check's outcome, which is returned or raised where it is called; and the CPU time that the check took."""
    began = time.thread_time()
    outcome: Future[T] = Future()
    try:
        outcome.set_result(check())
    except Exception as error:
        outcome.set_exception(error)
    return outcome.result, time.thread_time() - began
