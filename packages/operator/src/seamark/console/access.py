"""Who is asking, and what may they see: answered by the API server, remembered for a minute.

- A user sends a Kubernetes token. A TokenReview identifies the user; SubjectAccessReviews decide what the user may
  read.
- One review is enough for a user who may list a kind in all namespaces; for others there is one per namespace.
- Only definite answers are remembered. Without one (`Undecided`) nothing is shown, and the next request asks again.
- Reviews run a few at a time, and unknown tokens have a budget (`budget`): a client without a valid token costs next
  to nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from seamark.console.budget import Budget
from seamark_runtime.api.meta import Resource
from seamark_runtime.errors import Retry
from seamark_runtime.rbac import Grant
from seamark_runtime.transport import HttpRequest, NoAnswerError, Transport
from seamark_runtime.untrusted.decoding import Malformed, decode_plain_json
from seamark_runtime.untrusted.names import ApiPath, api_path

K = TypeVar("K")
V = TypeVar("V")

REMEMBERED = 60.0
TIMEOUT = 10.0
AT_ONCE = 4  # reviews that are under way at the same time
MOST = 50_000  # answers that are remembered, of each kind
LONGEST_TOKEN = 16 * 1024
TOKENS = api_path("/apis/authentication.k8s.io/v1/tokenreviews")
REVIEWS = api_path("/apis/authorization.k8s.io/v1/subjectaccessreviews")

GRANTS = {
    Grant("authentication.k8s.io", "tokenreviews", "create"),
    Grant("authorization.k8s.io", "subjectaccessreviews", "create"),
}


class Undecided(Retry):
    """The API server gave no definite answer."""


@dataclass(frozen=True)
class Person:
    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()


class Access:
    """Answers are kept for `REMEMBERED` seconds: a right that is withdrawn is gone by then."""

    def __init__(self, transport: Transport, now: Callable[[], float], budget: Budget | None = None) -> None:
        self._transport = transport
        self._budget = budget or Budget(now)
        self._people: Remembered[str, Person | None] = Remembered(now)
        self._rights: Remembered[tuple[Person, str, str, str], bool] = Remembered(now)
        self._places = asyncio.Semaphore(AT_ONCE)

    async def person(self, token: str, source: str | None = None) -> Person | None:
        """The user of this token; None if it is not valid. `source` is charged for an unknown token."""
        if not token or len(token) > LONGEST_TOKEN or not token.isascii() or not token.isprintable():
            return None
        mark = hashlib.sha256(token.encode()).hexdigest()
        if (known := self._people.get(mark)) is not None:
            return known[0]
        if source is not None:
            self._budget.take(source)
        async with self._places:
            [person] = self._people.get(mark) or self._people.put(mark, await self._whose(token))
        if source is not None and person is not None:
            self._budget.give_back(source)
        return person

    async def may_read(self, person: Person, resource: Resource, namespace: str) -> bool:
        if await self._may(person, "list", resource, ""):
            return True
        return bool(namespace) and await self._may(person, "get", resource, namespace)

    async def readable(self, person: Person, wanted: set[tuple[Resource, str]]) -> set[tuple[Resource, str]]:
        """Which of these (kind, namespace) the person may read."""
        places = sorted(wanted)
        answers = await asyncio.gather(*(self.may_read(person, *place) for place in places))
        return {place for place, allowed in zip(places, answers, strict=True) if allowed}

    async def _whose(self, token: str) -> Person | None:
        spec = {"token": token}
        status = await self._review(TOKENS, "authentication.k8s.io/v1", "TokenReview", spec)
        if not status.get("authenticated"):
            return None
        user = status.get("user") or {}
        return Person(user.get("username", ""), user.get("uid", ""), tuple(user.get("groups") or ()))

    async def _may(self, person: Person, verb: str, resource: Resource, namespace: str) -> bool:
        at = (person, verb, str(resource), namespace)
        if (known := self._rights.get(at)) is not None:
            return known[0]
        attributes = {"verb": verb, "group": resource.group, "resource": resource.plural, "namespace": namespace}
        who = {"user": person.name, "uid": person.uid, "groups": person.groups}
        async with self._places:
            if (known := self._rights.get(at)) is None:
                spec = {**who, "resourceAttributes": attributes}
                status = await self._review(REVIEWS, "authorization.k8s.io/v1", "SubjectAccessReview", spec)
                known = self._rights.put(at, bool(status.get("allowed")))
        return known[0]

    async def _review(self, path: ApiPath, api_version: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        body = msgspec.json.encode({"apiVersion": api_version, "kind": kind, "spec": spec})
        try:
            answer = await self._transport.send(HttpRequest("POST", path, body=body, timeout=TIMEOUT))
            review = decode_plain_json(answer.body) if answer.status in (200, 201) else None
        except (NoAnswerError, Malformed):
            review = None
        status = review.get("status") if isinstance(review, dict) else None
        if not isinstance(status, dict):
            raise Undecided(f"the API server gave no answer to a {kind}")
        return status


class Remembered(Generic[K, V]):
    """Values that count for `REMEMBERED` seconds, at most `MOST` of them; the oldest go first."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._kept: OrderedDict[K, tuple[float, V]] = OrderedDict()  # in the order in which they expire

    def get(self, key: K) -> tuple[V] | None:
        found = self._kept.get(key)
        return None if found is None or found[0] < self._now() else (found[1],)

    def put(self, key: K, value: V) -> tuple[V]:
        now = self._now()
        self._kept.pop(key, None)
        self._kept[key] = (now + REMEMBERED, value)
        while len(self._kept) > MOST or next(iter(self._kept.values()))[0] < now:
            self._kept.popitem(last=False)
        return (value,)

    def __len__(self) -> int:
        return len(self._kept)
