"""Fencing inside of a call: what a call does for the leader is done only while the Lease is ours.

A call may take longer than a Lease lasts, and survives its renewals. So it is not enough to look at the write deadline
when the call begins: code that sends a change of a remote object calls `ensure_leading` right before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from seamark_runtime.client import NoWriteDeadline, WriteDeadline
from seamark_runtime.errors import Fenced

_WRITE_DEADLINE: ContextVar[WriteDeadline] = ContextVar("write deadline", default=NoWriteDeadline())  # noqa: B039 - it has no state


@contextmanager
def fenced(write_deadline: WriteDeadline) -> Iterator[None]:
    """What runs in this context changes something only before this deadline; tasks that it starts, too."""
    token = _WRITE_DEADLINE.set(write_deadline)
    try:
        yield
    finally:
        _WRITE_DEADLINE.reset(token)


def ensure_leading(what: str) -> None:
    """Raises `Fenced` once the write deadline has passed. `what` is about to be sent."""
    if _WRITE_DEADLINE.get().remaining() <= 0:
        raise Fenced(f"{what} was not sent: the lease is no longer ours")
