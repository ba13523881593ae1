"""Our own rights as the API server reports them: requested when a controller reads one, never before a write.

- The first read of a right requests it, by a SelfSubjectAccessReview; the result is a fact, and requeues its readers.
- A result is valid for a minute. A right that no controller reads any more is not requested again.
- No answer is no evidence: while the server does not say, the right is `NotYet`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from random import Random
from typing import NamedTuple

import structlog

from seamark_runtime.api.authorization import AccessReviewSpec, ResourceAttributes, SelfSubjectAccessReview
from seamark_runtime.client import Client
from seamark_runtime.clock import Clock
from seamark_runtime.errors import SeamarkError
from seamark_runtime.failures import READ, Failure, described
from seamark_runtime.source import Fact, Fresh, NotYet, Source

log = structlog.get_logger(__name__)

KEEPS = 60.0
RETRY_SECONDS = 10.0


class OwnRights(Source):
    """Declared among its sources by a controller that reads our own rights (`View.may`)."""

    def __init__(self) -> None:
        super().__init__("own rights")
        self.synced = True  # each right has an answer of its own


class Right(NamedTuple):
    """A verb on a resource in a namespace."""

    namespace: str
    verb: str
    resource: str
    group: str = ""


class AccessReviews(Source):
    """Rights by what they allow. Tokens are the rights."""

    def __init__(self, client: Client, clock: Clock, random: Random) -> None:
        super().__init__("access reviews")
        self.synced = True  # each right has an answer of its own
        self._client = client
        self._clock = clock
        self._random = random
        self._facts: dict[Right, Fresh[bool]] = {}
        self._reviews_running: dict[Right, asyncio.Task[None]] = {}

    def get(self, right: Right, now: float) -> Fact[bool]:
        known = self._facts.get(right)
        if known is not None and known.expires > now:
            return known
        if right not in self._reviews_running:
            task = asyncio.get_running_loop().create_task(self._review(right), name=f"review {right}")
            self._reviews_running[right] = task
            task.add_done_callback(lambda _done: self._reviews_running.pop(right, None))
        return known or NotYet()

    def release(self, right: Hashable) -> None:
        """No controller reads this right any more."""
        if isinstance(right, Right):
            self._facts.pop(right, None)

    async def stop(self) -> None:
        tasks = list(self._reviews_running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _review(self, right: Right) -> None:
        attributes = ResourceAttributes(
            namespace=right.namespace, verb=right.verb, resource=right.resource, group=right.group
        )
        while True:
            try:
                review = await self._client.create(
                    SelfSubjectAccessReview(spec=AccessReviewSpec(resource_attributes=attributes))
                )
                break
            except SeamarkError:
                pass
            except Exception as error:  # this right is asked for again, and so are all others
                log.exception("access review failed: this is a bug in Seamark", right=str(right))
                self.on_failure(Failure(READ, self.name, message=described(error)))
            await asyncio.sleep(RETRY_SECONDS * (0.8 + self._random.random() * 0.4))
        before = self._facts.get(right)
        allowed = review.status is not None and review.status.allowed
        self._facts[right] = Fresh(allowed, self._clock.monotonic() + KEEPS)
        if before is None or before.value != allowed:
            self._notify(right)
