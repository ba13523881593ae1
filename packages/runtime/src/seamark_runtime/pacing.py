"""Bounds how long the input of peers keeps the event loop: by time, whatever the peers send.

A callback for received bytes can't wait as a task can (`timeslice`), and libuv reads up to 8 MB of one socket before it
looks at another. So a connection that has used its time keeps the rest of its input, stops reading, and goes on later.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

SLICE = 0.004  # seconds of work for one account between two looks at sockets and timers
BURST = 0.02  # seconds of work that an account may be ahead of its share
EARNED = 5e-9  # seconds that a byte is worth: bulk data at 200 MB/s uses nothing of the share

Bytes = bytes | bytearray | memoryview


class InputAccount:
    """The time that the input of one peer, or of one class of peers, may take.

    - At most `SLICE` seconds in one turn of the loop, and at most `share` of all time; bytes earn time, so that only
      input that costs more than its size is held to the share.
    - Connections that wait are served in turn, one piece of work each.
    - `share` 1.0 only cuts the work into slices.
    """

    def __init__(self, share: float = 1.0, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self._share = share
        self._spent = 0.0  # in this turn of the loop
        self._debt = 0.0  # above the share; falls by `share` a second
        self._counted = clock()  # when `_debt` was right
        self._since = 0.0  # when the work that is being done began
        self._last: tuple[PacedInput, float] | None = None  # whose input was handled last in this turn, and until when
        self._waiting: dict[PacedInput, None] = {}  # the one that waits longest first
        self._turn: asyncio.Handle | None = None  # the next turn; set while anything was spent, or waits

    @property
    def exhausted(self) -> bool:
        return self._spent >= SLICE or self.overdrawn

    @property
    def overdrawn(self) -> bool:
        return self._debt > BURST

    def enough(self) -> bool:
        """Whether work that is under way is to stop."""
        return self.clock() - self._since + self._spent >= SLICE

    def read(self, paced: PacedInput, began: float | None) -> None:
        """`paced` has received bytes. Reading and decrypting them took the time since `began`, if that is known."""
        now = self.clock()
        if began is None and self._last is not None and self._last[0] is paced:
            began = self._last[1]  # nothing else ran since
        if began is not None:
            self._charge(now - began, 0.0)

    def begin(self) -> None:
        self._since = self.clock()

    def end(self, paced: PacedInput, earned: float) -> None:
        now = self.clock()
        self._charge(now - self._since, earned)
        self._last = (paced, now)
        if self._turn is None:
            self._turn = asyncio.get_running_loop().call_soon(self._next)

    def wait(self, paced: PacedInput) -> None:
        self._waiting[paced] = None
        if self._turn is None:
            self._turn = asyncio.get_running_loop().call_soon(self._next)

    def forget(self, paced: PacedInput) -> None:
        self._waiting.pop(paced, None)
        if self._last is not None and self._last[0] is paced:
            self._last = None

    def _charge(self, seconds: float, earned: float) -> None:
        self._spent += seconds
        self._pay()
        self._debt = max(0.0, self._debt + seconds - earned)

    def _pay(self) -> None:
        now = self.clock()
        self._debt = max(0.0, self._debt - (now - self._counted) * self._share)
        self._counted = now

    def _next(self) -> None:
        """One round of the event loop later: waiting work goes on, unless the share is used up."""
        self._turn, self._last, self._spent = None, None, 0.0
        self._pay()
        loop = asyncio.get_running_loop()
        if self._waiting and self.overdrawn:
            self._turn = loop.call_later((self._debt - BURST / 2) / self._share, self._next)
            return
        for paced in list(self._waiting):
            if self.exhausted:
                break
            del self._waiting[paced]
            paced.proceed()
        if self._waiting and self._turn is None:
            self._turn = loop.call_soon(self._next)


def _never() -> bool:
    return False


class Reading(Protocol):
    """What is paced of a transport."""

    def pause_reading(self) -> None: ...

    def is_closing(self) -> bool: ...


class PacedInput:
    """What one connection receives, handled within the time of its account.

    - `handle` gets bytes, and asks `enough` between small pieces of work. It returns whether all is handled; if not, it
      has kept the rest, and is called again with no bytes.
    - While the connection waits it is not read; `resume` is called when it may be read again.
    - `account` may be exchanged between two calls of `handle`, as a peer proves who it is.
    """

    def __init__(
        self, account: InputAccount, handle: Callable[[Bytes, Callable[[], bool]], bool], resume: Callable[[], None]
    ) -> None:
        self.account = account
        self.penalty = 0.0  # seconds that are charged on top of the time taken; set by `handle`
        self._handle = handle
        self._resume = resume
        self._late: list[bytes] = []  # received while waiting
        self._transport: Reading | None = None
        self.waiting = False

    def connected(self, transport: Reading) -> None:
        self._transport = transport

    def received(self, data: Bytes, began: float | None = None) -> None:
        """Handle bytes that were read since `began`. They are copied if they wait: the buffer may be used again."""
        self.account.read(self, began)
        if self.waiting or self.account.exhausted:
            self._late.append(bytes(data))
            self._wait()
        else:
            self._run(data)

    def proceed(self) -> None:
        self.waiting = False
        late, self._late = self._late, []
        self._run(b"".join(late))
        if not self.waiting and self._transport is not None and not self._transport.is_closing():
            self._resume()

    def flush(self) -> None:
        """The peer has sent all: what waits is handled now, unless the peer is far beyond its share."""
        if self.waiting and not self.account.overdrawn:
            late, self._late = self._late, []
            self._handle(b"".join(late), _never)

    def close(self) -> None:
        """The connection is lost: nothing more is handled."""
        self.account.forget(self)
        self._late.clear()
        self._transport = None

    def _run(self, data: Bytes) -> None:
        account = self.account
        account.begin()
        done = False
        try:
            done = self._handle(data, account.enough)
        finally:
            penalty, self.penalty = self.penalty, 0.0
            account.end(self, len(data) * EARNED - penalty)
        if self._transport is not None and (not done or account.exhausted):
            self._wait()

    def _wait(self) -> None:
        if self._transport is None or self._transport.is_closing():
            self._late.clear()
            return
        self._transport.pause_reading()
        if not self.waiting:
            self.waiting = True
            self.account.wait(self)
