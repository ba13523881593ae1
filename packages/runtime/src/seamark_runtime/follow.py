"""Objects read one by one, by name: for kinds that must not be listed, such as Secrets.

- The first key that reads an object starts following it; when no key reads it any more, that ends.
- Followed by GET, every few seconds with jitter: `get` is the one right that does not also open all the others.
- Until the first answer the object is `NotYet`; then `Fresh` or `Absent`; a refusal is a fact, too (`Unreadable`), so
  that a status can show why the object is missing. A change requeues its readers. A transient failure changes
  nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

import structlog

from seamark_runtime.api.meta import Key, Object
from seamark_runtime.client import Client
from seamark_runtime.errors import Gone, Refused, SeamarkError
from seamark_runtime.failures import READ, Failure, described
from seamark_runtime.source import Absent, Fresh, NotYet, Source

T = TypeVar("T", bound=Object)

log = structlog.get_logger(__name__)

RETRY_SECONDS = 10.0  # seconds after which a read that failed, or was refused, is tried again at the latest


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The object can't be read: the error of the API server."""

    message: str


Followed = NotYet | Absent | Fresh[T] | Unreadable


class Follower(Source, Generic[T]):
    """One kind, of which single objects are followed. Tokens are their keys."""

    def __init__(self, client: Client, kind: type[T], random: Random, every: float) -> None:
        super().__init__(f"single {kind.RESOURCE}")
        self.synced = True  # each object has an answer of its own
        self._client = client
        self._kind = kind
        self._random = random
        self._every = every
        self._facts: dict[Key, Followed[T]] = {}
        self._tasks: dict[Key, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        """How many objects are followed."""
        return len(self._tasks)

    def get(self, key: Key) -> Followed[T]:
        if key not in self._tasks:
            self._facts[key] = NotYet()
            self._tasks[key] = asyncio.get_running_loop().create_task(self._follow(key), name=f"follow {key}")
        return self._facts[key]

    def answered(self, obj: T) -> None:
        """The response to another read, or to a write of ours: from now on this is known."""
        if obj.key in self._tasks:
            self._facts[obj.key] = Fresh(obj)

    def release(self, key: Hashable) -> None:
        """No controller reads this object any more."""
        if isinstance(key, Key) and key in self._tasks:
            self._tasks.pop(key).cancel()
            del self._facts[key]

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        for key in list(self._tasks):
            self.release(key)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, key: Key) -> None:
        while True:
            before = self._facts[key]
            fact = await self._read(key)
            if self._facts[key] is not before:
                continue  # answered meanwhile: what was read may be older
            if fact is not None and fact != before:
                self._facts[key] = fact
                self._notify(key)
            answered = isinstance(fact, Fresh | Absent)
            pause = self._every if answered else min(self._every, RETRY_SECONDS)
            await asyncio.sleep(pause * (0.8 + self._random.random() * 0.4))

    async def _read(self, key: Key) -> Followed[T] | None:
        try:
            return Fresh(await self._client.get(self._kind, key))
        except Gone:
            return Absent()
        except Refused as error:
            return Unreadable(error.message)
        except SeamarkError:
            return None
        except Exception as error:  # this object is read again, and so are all others
            log.exception("read failed: this is a bug in Seamark", kind=str(self._kind.RESOURCE))
            self.on_failure(Failure(READ, self._kind.RESOURCE, message=described(error)))
            return None
