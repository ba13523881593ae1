"""Connections that prove that a binding carries: made beside the workers, remembered without a write."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from seamark.families.bindings.state import Probe
from seamark_runtime.api.meta import Key
from seamark_runtime.clock import Clock, timestamp
from seamark_runtime.errors import Retry

PATIENCE = 0.25  # seconds in which a forwarder that can't reach the endpoint hangs up
Dial = Callable[[str, int], Awaitable[None]]


class Prober(Collector):
    """Performs `Probe`s, and knows when each BoundEndpoint was last verified.

    - A probe goes to the address in it, which the API server gave to our own Service; to nothing else.
    - A failure says how it failed, and when a probe last connected.
    - As a collector it tells the times live, so that they need not be written anywhere.
    """

    def __init__(self, clock: Clock, limit: float, dial: Dial | None = None) -> None:
        self._clock = clock
        self._limit = limit
        self._dial = dial or connect
        self._verified: dict[Key, float] = {}  # wall time
        allow_many_connections()

    async def perform(self, action: Probe) -> None:
        try:
            async with asyncio.timeout(self._limit):
                await self._dial(action.address, action.port)
        except TimeoutError:
            raise Retry(self._failed(action, f"no answer within {self._limit:g} s")) from None
        except OSError as error:
            raise Retry(self._failed(action, (error.strerror or str(error) or "no connection").lower())) from None
        self._verified[action.key] = self._clock.wall().timestamp()

    def last_verified(self, key: Key) -> str:
        at = self._verified.get(key)
        return timestamp(datetime.fromtimestamp(at, UTC)) if at else ""

    def forget(self, key: Key) -> None:
        self._verified.pop(key, None)

    def _failed(self, action: Probe, words: str) -> str:
        last = self.last_verified(action.key)
        place = f"{action.address}:{action.port}"
        return f"dial tcp {place}: {words}" + (f" (last connected at {last})" if last else "")

    def describe(self) -> Iterable[Metric]:
        yield self._family()

    def collect(self) -> Iterable[Metric]:
        family = self._family()
        for key, at in sorted(self._verified.items()):
            family.add_metric([key.namespace, key.name], at)
        yield family

    def _family(self) -> GaugeMetricFamily:
        words = "When a connection through a BoundEndpoint's upstream Service last succeeded"
        return GaugeMetricFamily("seamark_binding_verified_timestamp_seconds", words, labels=["namespace", "name"])


class HungUp(ConnectionError):
    """The forwarder accepted the connection and closed it: there is no response behind it."""

    strerror = "the forwarder closed the connection: the endpoint can't be reached at the edge"


async def connect(address: str, port: int) -> None:
    """A connection that is made, and not given up at once by who took it, is the evidence."""
    reader, writer = await asyncio.open_connection(address, port)
    try:
        async with asyncio.timeout(PATIENCE):
            if await reader.read(1) == b"":
                raise HungUp
    except TimeoutError:
        pass  # it stays open: the server waits for the client to send first
    finally:
        writer.transport.abort()


def allow_many_connections() -> None:
    """A thousand probes that wait must not keep the next one from its turn."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
