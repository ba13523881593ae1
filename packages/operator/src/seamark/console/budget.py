"""A rate limit for unknown tokens: anonymous requests must not become load on the API server.

- Every source has a few attempts with unknown tokens; an attempt with a valid one is returned. Attempts are refilled
  with time.
- All sources together have a rate that the API server does not notice.
- The memory is bounded: of many sources the oldest are dropped.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address

from seamark_runtime.errors import Retry

MAX_SOURCES = 10_000


class TooManyAttempts(Retry):
    """Not reviewed: there were too many attempts with unknown tokens. `after` is when to try again."""


@dataclass
class Bucket:
    """Holds up to `size` attempts, and gains `rate` a second."""

    size: float
    rate: float
    level: float
    at: float

    def wait(self, now: float) -> float:
        """Seconds until there is an attempt to take; 0 if there is one now."""
        self.level = min(self.size, self.level + (now - self.at) * self.rate)
        self.at = now
        return max(0.0, (1.0 - self.level) / self.rate)


@dataclass
class Budget:
    now: Callable[[], float]
    per_source: tuple[float, float] = (10.0, 1 / 6)  # at once, and a second
    overall: tuple[float, float] = (100.0, 20.0)
    _sources: OrderedDict[str, Bucket] = field(default_factory=OrderedDict)  # the least recently seen first
    _all: Bucket | None = None

    def take(self, source: str) -> None:
        """One attempt of this source; `TooManyAttempts` if it has none left, or the total is used up."""
        buckets = (self._of(group_of(source)), self._total())
        wait = max(bucket.wait(self.now()) for bucket in buckets)
        if wait > 0:
            raise TooManyAttempts("too many attempts with unknown tokens", after=wait)
        for bucket in buckets:
            bucket.level -= 1

    def give_back(self, source: str) -> None:
        """The token was valid."""
        bucket = self._of(group_of(source))
        bucket.level = min(bucket.size, bucket.level + 1)

    def _of(self, source: str) -> Bucket:
        bucket = self._sources.setdefault(source, self._new(self.per_source))
        self._sources.move_to_end(source)
        while len(self._sources) > MAX_SOURCES:
            self._sources.popitem(last=False)
        return bucket

    def _total(self) -> Bucket:
        if self._all is None:
            self._all = self._new(self.overall)
        return self._all

    def _new(self, limits: tuple[float, float]) -> Bucket:
        size, rate = limits
        return Bucket(size, rate, size, self.now())


def group_of(source: str) -> str:
    """Addresses that one party can have as many of as it likes count as one: an IPv6 network of 64 bits."""
    try:
        address = ip_address(source.partition("%")[0])
    except ValueError:
        return source
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or f"{address.packed[:8].hex()}/64")
    return str(address)
